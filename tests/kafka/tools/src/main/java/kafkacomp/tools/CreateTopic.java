package kafkacomp.tools;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;

/** Creates the topics of a plan: one JSON object a line with topic, partitions and configs. */
final class CreateTopic {
    private CreateTopic() {}

    static void run(Options options) throws Exception {
        options.only("bootstrap", "plan");
        List<NewTopic> topics = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(options.get("plan")))) {
            JsonNode step = JsonLines.MAPPER.readTree(line);
            Map<String, String> configs = new TreeMap<>();
            JsonLines.config(step.get("configs")).forEach((name, value) -> configs.put(name, value.toString()));
            int partitions = step.path("partitions").asInt(1);
            topics.add(new NewTopic(step.get("topic").textValue(), partitions, (short) 1).configs(configs));
        }
        try (Admin admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap")))) {
            admin.createTopics(topics).all().get(30, TimeUnit.SECONDS);
        }
    }
}
