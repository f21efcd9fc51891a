package kafkacomp.limit;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.PrimitiveRef;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/** LogValidator with max.decompressed.message.bytes: a line for each line of a file. */
public final class Main {
    private Main() {}

    /** Lines of limit, source and target codec, format, and records in base64; the answer is ok or an exception's name. */
    public static void main(String[] arguments) throws Exception {
        List<String> answers = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] fields = line.split("\t");
            answers.add(answer(Integer.parseInt(fields[0]), Integer.parseInt(fields[1]), Integer.parseInt(fields[2]),
                    Byte.parseByte(fields[3]), Base64.getDecoder().decode(fields[4])));
        }
        Files.write(Path.of(arguments[1]), answers);
    }

    private static String answer(int limit, int source, int target, byte magic, byte[] data) {
        LogValidator validator = new LogValidator(
                MemoryRecords.readableRecords(ByteBuffer.wrap(data)), new TopicPartition("t", 0), Time.SYSTEM,
                CompressionType.forId(source), Compression.of(CompressionType.forId(target)).build(), false, magic,
                TimestampType.CREATE_TIME, Long.MAX_VALUE, Long.MAX_VALUE, 0, AppendOrigin.CLIENT, limit);
        try {
            validator.validateMessagesAndAssignOffsets(
                    PrimitiveRef.ofLong(0), new NoMetrics(), BufferSupplier.NO_CACHING);
            return "ok";
        } catch (RecordValidationException e) {
            return e.invalidException().getClass().getSimpleName();
        } catch (RuntimeException e) {
            return e.getClass().getSimpleName();
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
