package kafkacomp.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;

/**
 * What a broker does with each batch of a producer before it appends it: LogValidator, one call a batch, with the buffers that a
 * broker's request thread keeps.
 */
public final class ValidateBench implements Bench {
    private static final LogValidator.MetricsRecorder NO_METRICS = new NoMetrics();

    private final List<MemoryRecords> batches = new ArrayList<>();
    private final CompressionType source;
    private final Compression target;
    private final BufferSupplier buffers = BufferSupplier.create();
    private long records;
    private long bytes;

    private ValidateBench(Options options) throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(Path.of(options.get("file"))));
        MemoryRecords all = MemoryRecords.readableRecords(file);
        int at = 0;
        for (RecordBatch batch : all.batches()) {
            batches.add(MemoryRecords.readableRecords(file.slice(at, batch.sizeInBytes())));
            at += batch.sizeInBytes();
        }
        source = CompressionType.forName(options.get("source"));
        target = Compression.of(CompressionType.forName(options.get("target"))).build();
    }

    public static void main(String[] args) throws IOException {
        Options options = Options.parse(args).only("file", "source", "target", "warm-up-ms");
        Bench.serve(new ValidateBench(options), options);
    }

    @Override
    public String counts() {
        return String.format(Locale.ROOT, "\"records\": %d, \"batches\": %d, \"bytes\": %d", records, batches.size(), bytes);
    }

    @Override
    public void pass() {
        records = 0;
        bytes = 0;
        for (MemoryRecords batch : batches) {
            PrimitiveRef.LongRef offset = PrimitiveRef.ofLong(0);
            LogValidator validator = new LogValidator(batch, new TopicPartition("flights", 0), Time.SYSTEM, source, target, false,
                RecordBatch.MAGIC_VALUE_V2, TimestampType.CREATE_TIME, Long.MAX_VALUE, Long.MAX_VALUE, 0, AppendOrigin.CLIENT,
                MetadataVersion.latestProduction());
            LogValidator.ValidationResult result = validator.validateMessagesAndAssignOffsets(offset, NO_METRICS, buffers);
            records += offset.value;
            bytes += result.validatedRecords.sizeInBytes();
        }
    }

    private static final class NoMetrics implements LogValidator.MetricsRecorder {
        @Override
        public void recordInvalidMagic() {}

        @Override
        public void recordInvalidOffset() {}

        @Override
        public void recordInvalidSequence() {}

        @Override
        public void recordInvalidChecksums() {}

        @Override
        public void recordNoKeyCompactedTopic() {}
    }
}
