//! Kafka records as Arrow columns.
