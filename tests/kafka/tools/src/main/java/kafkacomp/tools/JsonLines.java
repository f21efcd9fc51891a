package kafkacomp.tools;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.header.Header;

/** JSON lines as the tools read and write them: bytes are base64, an absent key or value is null. */
final class JsonLines {
    static final ObjectMapper MAPPER = new ObjectMapper();

    private JsonLines() {}

    /** A generator that puts each root value on a line of its own. */
    static JsonGenerator writer(Path path) throws IOException {
        OutputStream out = new BufferedOutputStream(Files.newOutputStream(path), 1 << 16);
        JsonGenerator json = MAPPER.getFactory().createGenerator(out);
        json.setRootValueSeparator(new com.fasterxml.jackson.core.io.SerializedString("\n"));
        return json;
    }

    static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() ? null : Base64.getDecoder().decode(node.textValue());
    }

    static Map<String, Object> config(JsonNode node) {
        Map<String, Object> config = new TreeMap<>();
        if (node != null) {
            node.properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        }
        return config;
    }

    static void bytes(JsonGenerator json, String name, byte[] value) throws IOException {
        json.writeFieldName(name);
        bytes(json, value);
    }

    static void bytes(JsonGenerator json, String name, ByteBuffer value) throws IOException {
        byte[] copy = null;
        if (value != null) {
            copy = new byte[value.remaining()];
            value.duplicate().get(copy);
        }
        bytes(json, name, copy);
    }

    static void headers(JsonGenerator json, Iterable<Header> headers) throws IOException {
        json.writeArrayFieldStart("headers");
        for (Header header : headers) {
            json.writeStartArray();
            json.writeString(header.key());
            bytes(json, header.value());
            json.writeEndArray();
        }
        json.writeEndArray();
    }

    private static void bytes(JsonGenerator json, byte[] value) throws IOException {
        if (value == null) {
            json.writeNull();
        } else {
            json.writeBinary(value);
        }
    }
}
