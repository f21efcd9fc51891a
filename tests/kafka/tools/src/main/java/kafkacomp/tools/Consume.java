package kafkacomp.tools;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads all partitions of the topics from the beginning to the end that the isolation level allows (the log's end, or the
 * last stable offset) and writes a JSON line a record.
 */
final class Consume {
    private static final Duration POLL = Duration.ofMillis(500);

    private Consume() {}

    static void run(Options options) throws Exception {
        options.only("bootstrap", "topics", "isolation", "out", "timeout-ms");
        long deadline = System.currentTimeMillis() + Long.parseLong(options.get("timeout-ms", "60000"));
        Map<String, Object> config = new HashMap<>();
        config.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
        config.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, options.get("isolation", "read_uncommitted"));
        config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        config.put(ConsumerConfig.CHECK_CRCS_CONFIG, "true");
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
             JsonGenerator json = JsonLines.writer(Path.of(options.get("out")))) {
            List<TopicPartition> partitions = List.of(options.get("topics").split(",")).stream()
                .flatMap(topic -> consumer.partitionsFor(topic).stream())
                .map(info -> new TopicPartition(info.topic(), info.partition()))
                .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            // The position counts markers and aborted records too, which never reach the caller.
            while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException("timed out before " + ends);
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    write(json, record);
                }
            }
        }
    }

    private static void write(JsonGenerator json, ConsumerRecord<byte[], byte[]> record) throws IOException {
        json.writeStartObject();
        json.writeStringField("topic", record.topic());
        json.writeNumberField("partition", record.partition());
        json.writeNumberField("offset", record.offset());
        json.writeNumberField("timestamp", record.timestamp());
        json.writeNumberField("timestampType", record.timestampType().id);
        if (record.leaderEpoch().isPresent()) {
            json.writeNumberField("leaderEpoch", record.leaderEpoch().get());
        } else {
            json.writeNullField("leaderEpoch");
        }
        JsonLines.bytes(json, "key", record.key());
        JsonLines.bytes(json, "value", record.value());
        JsonLines.headers(json, record.headers());
        json.writeEndObject();
    }
}
