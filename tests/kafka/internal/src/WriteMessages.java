import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/**
 * Serializes messages that are given as JSON. A line of the input: class, version, number of unknown tagged fields, JSON.
 * A line of the output: simple name of the class, version, the bytes in hex, and the JSON that Kafka makes of them.
 */
public class WriteMessages {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", 4);
            Class<?> type = Class.forName(parts[0]);
            Class<?> converter = Class.forName(parts[0] + "JsonConverter");
            short version = Short.parseShort(parts[1]);
            Method read = converter.getMethod("read", JsonNode.class, short.class);
            Message message = (Message) read.invoke(null, mapper.readTree(parts[3]), version);
            for (int number = 0; number < Integer.parseInt(parts[2]); number++) {
                message.unknownTaggedFields().add(new RawTaggedField(1000 + number, new byte[number * 100]));
            }
            ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            Message again = (Message) type.getConstructor().newInstance();
            again.read(new org.apache.kafka.common.protocol.ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
            Object json = converter.getMethod("write", type, short.class).invoke(null, again, version);
            out.println(type.getSimpleName() + "\t" + version + "\t" + HexFormat.of().formatHex(bytes) + "\t" + json);
        }
        out.flush();
    }
}
