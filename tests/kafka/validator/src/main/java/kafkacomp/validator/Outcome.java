package kafkacomp.validator;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.storage.internals.log.*;

/** An accepted record set as the end of a line. */
final class Outcome {
    private static final int LOG_OVERHEAD = 12;
    private static final int BATCH_OVERHEAD = 61;

    private Outcome() {}

    static String of(LogValidator.ValidationResult result, long nextOffset, Config config) {
        MemoryRecords stored = (MemoryRecords) field(result, "validatedRecords");
        RecordValidationStats stats = (RecordValidationStats) field(result, "recordValidationStats");
        boolean changed = (Boolean) field(result, "messageSizeMaybeChanged");
        ByteBuffer buffer = stored.buffer().duplicate();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        boolean exact = !changed || config.target() == 0 || bytes.length == 0;
        return String.join(
                "\t",
                String.valueOf(field(result, "logAppendTimeMs")),
                String.valueOf(field(result, "maxTimestampMs")),
                String.valueOf(nextOffset),
                changed ? "1" : "0",
                String.valueOf(stats.temporaryMemoryBytes()),
                String.valueOf(stats.numRecordsConverted()),
                exact ? "1" : "0",
                sha256(exact ? bytes : content(bytes)));
    }

    /** A field in 3.9, an accessor in 4.3. */
    private static Object field(Object result, String name) {
        try {
            return result.getClass().isRecord()
                    ? result.getClass().getMethod(name).invoke(result)
                    : result.getClass().getField(name).get(result);
        } catch (NoSuchFieldException | NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The one batch that was compressed anew, without what depends on the encoder: its size and checksum. */
    private static byte[] content(byte[] batch) {
        byte magic = batch[16];
        int from = magic >= 2 ? BATCH_OVERHEAD : magic == 1 ? 34 : 26;
        int type = batch[magic >= 2 ? 22 : 17] & 7;
        byte[] plain;
        try {
            plain = Kafka.decompress(type, magic, ByteBuffer.wrap(batch, from, batch.length - from).slice());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        byte[] header = Arrays.copyOf(batch, from);
        Arrays.fill(header, 8, LOG_OVERHEAD, (byte) 0);
        int crc = magic >= 2 ? 17 : LOG_OVERHEAD;
        Arrays.fill(header, crc, crc + 4, (byte) 0);
        if (magic < 2) {
            Arrays.fill(header, from - 4, from, (byte) 0);
        }
        byte[] all = Arrays.copyOf(header, from + plain.length);
        System.arraycopy(plain, 0, all, from, plain.length);
        return all;
    }

    static String sha256(byte[] data) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data), 0, 12);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
