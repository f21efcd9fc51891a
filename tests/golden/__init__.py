"""Golden tests: what real brokers wrote, and what Kafka's own readers say is in it."""
