package kafkacomp.validator;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.*;

/** What of Kafka is called, the same for 3.9 and 4.3. */
final class Kafka {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final BufferSupplier BUFFERS = BufferSupplier.create();
    private static final Constructor<?> VALIDATOR = LogValidator.class.getConstructors()[0];
    /** 3.9 is told the inter-broker protocol's version, 4.x is not. */
    private static final boolean HAS_VERSION = VALIDATOR.getParameterCount() > 12;

    private Kafka() {}

    static Compression compression(int type, Integer level) {
        if (level == null) {
            return Compression.of(CompressionType.forId(type)).build();
        }
        return switch (type) {
            case 1 -> Compression.gzip().level(level).build();
            case 3 -> Compression.lz4().level(level).build();
            case 4 -> Compression.zstd().level(level).build();
            default -> throw new IllegalArgumentException("no levels: " + type);
        };
    }

    static byte[] compress(int type, byte magic, byte[] data) {
        ByteBufferOutputStream out = new ByteBufferOutputStream(Math.max(64, data.length));
        try (OutputStream stream = compression(type, null).wrapForOutput(out, magic)) {
            stream.write(data);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        ByteBuffer buffer = out.buffer().duplicate();
        buffer.flip();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    static byte[] decompress(int type, byte magic, ByteBuffer data) throws IOException {
        try (InputStream stream = compression(type, null).wrapForInput(data, magic, BUFFERS)) {
            return stream.readAllBytes();
        }
    }

    /** LogValidator's answer: the fields of a line, as README.md has them. */
    static String validate(byte[] data, Config config) {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(data.clone()));
        var counter = org.apache.kafka.common.utils.PrimitiveRef.ofLong(config.offset());
        try {
            LogValidator validator = validator(records, config);
            LogValidator.ValidationResult result =
                    validator.validateMessagesAndAssignOffsets(counter, new NoMetrics(), BUFFERS);
            return "ok\t" + Outcome.of(result, counter.value, config);
        } catch (RecordValidationException e) {
            List<String> indexes = new ArrayList<>();
            e.recordErrors().forEach(error -> indexes.add(String.valueOf(error.batchIndex)));
            return "error\t" + e.invalidException().getClass().getSimpleName() + "\t" + String.join(",", indexes);
        } catch (RuntimeException | Error e) {
            return "error\t" + e.getClass().getSimpleName() + "\t";
        }
    }

    private static LogValidator validator(MemoryRecords records, Config config) {
        List<Object> arguments = new ArrayList<>(List.of(
                records,
                PARTITION,
                clock(config.now()),
                CompressionType.forId(config.source()),
                compression(config.target(), config.level()),
                config.compacted(),
                config.toMagic(),
                config.appendTime() ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
                config.before(),
                config.after(),
                config.epoch(),
                AppendOrigin.valueOf(config.origin())));
        if (HAS_VERSION) {
            arguments.add(switch (config.version()) {
                case "latest" -> MetadataVersion.latestTesting();
                case "2.0" -> MetadataVersion.valueOf("IBP_2_0_IV1");
                case "2.1" -> MetadataVersion.valueOf("IBP_2_1_IV2");
                default -> throw new IllegalArgumentException(config.version());
            });
        }
        try {
            return (LogValidator) VALIDATOR.newInstance(arguments.toArray());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A clock that stands, but for the nanoseconds that statistics want. */
    private static Time clock(long now) {
        return (Time) Proxy.newProxyInstance(Kafka.class.getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, arguments) ->
                method.getName().equals("milliseconds") ? (Object) now : (Object) 0L);
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
