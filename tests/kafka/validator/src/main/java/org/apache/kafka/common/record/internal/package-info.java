/** Kafka 4.3 has the record classes here, 3.9 one package above: this lets one source import both and compile with either. */
package org.apache.kafka.common.record.internal;
