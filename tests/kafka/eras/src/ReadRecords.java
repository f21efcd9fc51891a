import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;

/**
 * What the clients' classes of Kafka 0.11 and later read (MemoryRecords). As ReadMessageSets; the package that these classes
 * are in since 4.3 is put in its place before the start.
 */
public final class ReadRecords {
    private ReadRecords() {}

    public static void main(String[] args) throws IOException {
        try (DataInputStream in = new DataInputStream(new FileInputStream(args[0]))) {
            while (true) {
                byte[] set;
                try {
                    set = new byte[in.readInt()];
                } catch (EOFException end) {
                    return;
                }
                in.readFully(set);
                System.out.println(read(set));
            }
        }
    }

    private static String read(byte[] set) {
        StringBuilder line = new StringBuilder("ok");
        try {
            for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(set)).batches()) {
                batch.ensureValid();
                for (Record record : batch) {
                    record.ensureValid();
                    line.append(' ').append(record.offset()).append(',').append(record.timestamp()).append(',')
                        .append(content(record.key())).append(',').append(content(record.value())).append(',');
                    for (Header header : record.headers()) {
                        byte[] value = header.value();
                        line.append(header.key()).append('=').append(content(value == null ? null : ByteBuffer.wrap(value))).append(';');
                    }
                }
            }
        } catch (Exception | LinkageError error) {
            return "error " + error;
        }
        return line.toString();
    }

    private static String content(ByteBuffer bytes) {
        if (bytes == null) {
            return "-";
        }
        CRC32 crc = new CRC32();
        crc.update(bytes.duplicate());
        return bytes.remaining() + ":" + Long.toHexString(crc.getValue());
    }
}
