import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import kafka.message.ByteBufferMessageSet;
import kafka.message.Message;
import kafka.message.MessageAndOffset;
import scala.collection.Iterator;

/**
 * What the broker's classes of Kafka 0.8.2 to 0.10.2 (kafka.message) read. The file named by the first argument holds sets,
 * each behind its size; a line is printed for each: its messages, or the exception. Started from source, against the jars
 * of each version, so that it is compiled against them.
 */
public final class ReadMessageSets {
    private ReadMessageSets() {}

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
            Iterator<MessageAndOffset> shallow = new ByteBufferMessageSet(ByteBuffer.wrap(set)).shallowIterator();
            while (shallow.hasNext()) {
                shallow.next().message().ensureValid();
            }
            Iterator<MessageAndOffset> deep = new ByteBufferMessageSet(ByteBuffer.wrap(set)).iterator();
            while (deep.hasNext()) {
                MessageAndOffset next = deep.next();
                Message message = next.message();
                message.ensureValid();
                line.append(' ').append(next.offset()).append(',').append(timestamp(message)).append(',')
                    .append(content(message.key())).append(',').append(content(message.payload())).append(',');
            }
        } catch (Exception | LinkageError error) {
            return "error " + error;
        }
        return line.toString();
    }

    /** Messages have timestamps from 0.10 on. */
    private static Object timestamp(Message message) {
        try {
            return message.getClass().getMethod("timestamp").invoke(message);
        } catch (ReflectiveOperationException none) {
            return -1;
        }
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
