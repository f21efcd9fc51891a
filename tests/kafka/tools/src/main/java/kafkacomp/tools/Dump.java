package kafkacomp.tools;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;

/**
 * Writes the batches of segment files with their records, control records too, as Kafka's FileRecords reads them: a JSON
 * line a batch.
 */
final class Dump {
    private Dump() {}

    static void run(Options options) throws Exception {
        options.only("segments", "out");
        try (JsonGenerator json = JsonLines.writer(Path.of(options.get("out")))) {
            for (String segment : options.get("segments").split(",")) {
                try (FileRecords records = FileRecords.open(Path.of(segment).toFile(), false)) {
                    for (FileChannelRecordBatch batch : records.batches()) {
                        batch.ensureValid();
                        write(json, segment, batch);
                    }
                }
            }
        }
    }

    private static void write(JsonGenerator json, String segment, FileChannelRecordBatch batch) throws IOException {
        json.writeStartObject();
        json.writeStringField("segment", segment);
        json.writeNumberField("position", batch.position());
        json.writeNumberField("sizeInBytes", batch.sizeInBytes());
        json.writeNumberField("magic", batch.magic());
        json.writeNumberField("baseOffset", batch.baseOffset());
        json.writeNumberField("lastOffset", batch.lastOffset());
        json.writeNumberField("leaderEpoch", batch.partitionLeaderEpoch());
        json.writeStringField("compressionType", batch.compressionType().name);
        json.writeNumberField("timestampType", batch.timestampType().id);
        json.writeNumberField("maxTimestamp", batch.maxTimestamp());
        json.writeNumberField("producerId", batch.producerId());
        json.writeNumberField("producerEpoch", batch.producerEpoch());
        json.writeNumberField("baseSequence", batch.baseSequence());
        json.writeBooleanField("isTransactional", batch.isTransactional());
        json.writeBooleanField("isControl", batch.isControlBatch());
        if (batch.deleteHorizonMs().isPresent()) {
            json.writeNumberField("deleteHorizonMs", batch.deleteHorizonMs().getAsLong());
        } else {
            json.writeNullField("deleteHorizonMs");
        }
        json.writeArrayFieldStart("records");
        for (Record record : batch) {
            json.writeStartObject();
            json.writeNumberField("offset", record.offset());
            json.writeNumberField("timestamp", record.timestamp());
            json.writeNumberField("sequence", record.sequence());
            JsonLines.bytes(json, "key", record.key());
            JsonLines.bytes(json, "value", record.value());
            JsonLines.headers(json, List.of(record.headers()));
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
