package kafkacomp.tools;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Set;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.Record;

/**
 * Boils an outcome down to the first 8 bytes of the SHA-256 of its text; tests/golden/digest.py writes the same text.
 * Each field is followed by a blank, each piece of bytes by its length and itself.
 */
final class OutcomeDigest extends OutcomeSink {
    /** What Kafka or a codec's library throws where compressed data are damaged. */
    private static final Set<String> CODEC_CLASSES =
            Set.of("KafkaException", "IOException", "SnappyError", "UncheckedIOException", "ZipException");

    private final ByteArrayOutputStream text = new ByteArrayOutputStream();
    private final MessageDigest sha256;

    OutcomeDigest() {
        try {
            sha256 = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The digest of all since {@code begin}. */
    String finish() {
        return HexFormat.of().formatHex(sha256.digest(text.toByteArray()), 0, 8);
    }

    @Override
    void begin() {
        text.reset();
    }

    @Override
    void end(int position, Throwable failure) {
        put("end " + position + " " + kind(failure));
    }

    @Override
    void beginBatch() {
        put("batch ");
    }

    @Override
    void field(String name, Object value) {
        if (name.equals("ev")) {
            put(kind((Throwable) value));
        } else if (value instanceof Throwable) {
            put("! ");
        } else if (value instanceof Boolean truth) {
            put(truth ? "1 " : "0 ");
        } else {
            put(value == null ? "null " : value + " ");
        }
    }

    @Override
    void beginRecords() {}

    @Override
    void record(Record record, int timestampType, Boolean valid) {
        put("record " + record.offset() + " " + record.timestamp() + " " + timestampType + " "
                + record.sequence() + " " + (valid == null ? "null" : valid ? "1" : "0") + " ");
        bytes(record.key());
        bytes(record.value());
        for (Header header : record.headers()) {
            bytes(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8)));
            bytes(header.value() == null ? null : ByteBuffer.wrap(header.value()));
        }
    }

    @Override
    void endRecords(int count, Throwable failure) {
        put(kind(failure));
    }

    private static String kind(Throwable failure) {
        if (failure == null) {
            return "fine ";
        }
        String name = failure.getClass().getSimpleName();
        if (CODEC_CLASSES.contains(name)) {
            return "codec ";
        }
        return switch (name) {
            case "CorruptRecordException" -> "2 ";
            case "InvalidRecordException" -> "87 ";
            default -> "-1 ";
        };
    }

    private void put(String piece) {
        byte[] bytes = piece.getBytes(StandardCharsets.UTF_8);
        text.write(bytes, 0, bytes.length);
    }

    private void bytes(ByteBuffer value) {
        if (value == null) {
            put("null ");
            return;
        }
        put(value.remaining() + " ");
        if (value.hasArray()) {
            text.write(value.array(), value.arrayOffset() + value.position(), value.remaining());
        } else {
            byte[] copy = new byte[value.remaining()];
            value.duplicate().get(copy);
            text.write(copy, 0, copy.length);
        }
    }
}
