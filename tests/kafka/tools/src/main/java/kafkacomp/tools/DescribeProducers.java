package kafkacomp.tools;

import com.fasterxml.jackson.core.JsonGenerator;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.common.TopicPartition;

/** Writes what the broker knows of the producers of each topic's partition 0: a JSON line a producer. */
final class DescribeProducers {
    private DescribeProducers() {}

    static void run(Options options) throws Exception {
        options.only("bootstrap", "topics", "out");
        List<TopicPartition> partitions =
            Arrays.stream(options.get("topics").split(",")).map(topic -> new TopicPartition(topic, 0)).toList();
        try (Admin admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap")));
             JsonGenerator json = JsonLines.writer(Path.of(options.get("out")))) {
            var described = admin.describeProducers(partitions).all().get(30, TimeUnit.SECONDS);
            for (var entry : described.entrySet()) {
                for (ProducerState producer : entry.getValue().activeProducers()) {
                    json.writeStartObject();
                    json.writeStringField("topic", entry.getKey().topic());
                    json.writeNumberField("producerId", producer.producerId());
                    json.writeNumberField("producerEpoch", producer.producerEpoch());
                    json.writeNumberField("lastSequence", producer.lastSequence());
                    json.writeNumberField("lastTimestamp", producer.lastTimestamp());
                    json.writeNumberField("transactionStart", producer.currentTransactionStartOffset().orElse(-1));
                    json.writeEndObject();
                }
            }
        }
    }
}
