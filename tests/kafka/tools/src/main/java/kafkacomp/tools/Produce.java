package kafkacomp.tools;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Runs a plan of JSON lines through KafkaProducer. A line is either a record (topic, partition, key, value, headers,
 * timestamp) or a step, named by {@code step}:
 *
 * <ul>
 *   <li>{@code open}: closes the producer there is and makes one with {@code config} (compression.type, transactional.id, ...)
 *   <li>{@code begin}, {@code commit}, {@code abort}: the bounds of a transaction
 *   <li>{@code flush}: waits for all records so far, which ends their batches
 *   <li>{@code sleep}: waits for {@code ms}
 *   <li>{@code leave-open}: flushes and ends the process at once, as a crash would, so that a begun transaction stays open
 *       (KafkaProducer.close would abort it); nothing may follow
 * </ul>
 */
final class Produce {
    private final String bootstrap;
    private final Queue<Future<RecordMetadata>> sent = new ArrayDeque<>();
    private KafkaProducer<byte[], byte[]> producer;

    private Produce(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    static void run(Options options) throws Exception {
        options.only("bootstrap", "plan");
        Produce tool = new Produce(options.get("bootstrap"));
        try (BufferedReader plan = Files.newBufferedReader(Path.of(options.get("plan")))) {
            for (String line = plan.readLine(); line != null; line = plan.readLine()) {
                JsonNode step = JsonLines.MAPPER.readTree(line);
                if (step.has("step")) {
                    tool.step(step);
                } else {
                    tool.sent.add(tool.producer.send(record(step)));
                }
            }
        }
        tool.close();
    }

    private void step(JsonNode step) throws Exception {
        switch (step.get("step").textValue()) {
            case "open" -> open(JsonLines.config(step.get("config")));
            case "begin" -> producer.beginTransaction();
            case "commit" -> {
                flush();
                producer.commitTransaction();
            }
            case "abort" -> {
                flush();
                producer.abortTransaction();
            }
            case "flush" -> flush();
            case "sleep" -> Thread.sleep(step.get("ms").longValue());
            case "leave-open" -> {
                flush();
                Runtime.getRuntime().halt(0);
            }
            default -> throw new IllegalArgumentException("unknown step: " + step);
        }
    }

    private void open(Map<String, Object> config) throws Exception {
        close();
        config.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        config.putIfAbsent(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, "60000");
        config.putIfAbsent(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, "20000");
        producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        if (config.containsKey(ProducerConfig.TRANSACTIONAL_ID_CONFIG)) {
            producer.initTransactions();
        }
    }

    /** Waits for every record and fails on the first that the broker refused: a plan is carried out whole or not at all. */
    private void flush() throws Exception {
        producer.flush();
        while (!sent.isEmpty()) {
            sent.remove().get(60, TimeUnit.SECONDS);
        }
    }

    private void close() throws Exception {
        if (producer != null) {
            flush();
            producer.close(Duration.ofSeconds(30));
            producer = null;
        }
    }

    private static ProducerRecord<byte[], byte[]> record(JsonNode step) {
        JsonNode timestamp = step.get("timestamp");
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
            step.get("topic").textValue(),
            step.path("partition").asInt(0),
            timestamp == null || timestamp.isNull() ? null : timestamp.longValue(),
            JsonLines.bytes(step.get("key")),
            JsonLines.bytes(step.get("value")));
        for (JsonNode header : step.path("headers")) {
            record.headers().add(header.get(0).textValue(), JsonLines.bytes(header.get(1)));
        }
        return record;
    }
}
