package kafkacomp.tools;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * What Kafka's own decompressing streams make of bytes: --cases, a file of (id, 1; magic, 1; length, 4; bytes), big-endian;
 * --out, a line for each: "ok" or "error", how many bytes came before that, and their CRC-32.
 */
final class Decompress {
    private Decompress() {}

    static void run(Options options) throws IOException {
        options.only("cases", "out");
        try (DataInputStream cases = new DataInputStream(
                        new BufferedInputStream(Files.newInputStream(Path.of(options.get("cases")))));
                PrintStream out = new PrintStream(options.get("out"), StandardCharsets.UTF_8)) {
            BufferSupplier supplier = BufferSupplier.create();
            for (int id = cases.read(); id >= 0; id = cases.read()) {
                byte magic = cases.readByte();
                byte[] data = new byte[cases.readInt()];
                cases.readFully(data);
                out.println(read(id, magic, data, supplier));
            }
        }
    }

    private static String read(int id, byte magic, byte[] data, BufferSupplier supplier) {
        CRC32 crc = new CRC32();
        long length = 0;
        String verdict = "ok";
        Compression compression = Compression.of(CompressionType.forId(id)).build();
        try (InputStream stream = compression.wrapForInput(ByteBuffer.wrap(data), magic, supplier)) {
            for (int next = stream.read(); next >= 0; next = stream.read()) {
                crc.update(next);
                length++;
            }
        } catch (IOException | RuntimeException | Error failure) { // snappy-java throws an Error of its own
            verdict = "error";
        }
        return verdict + " " + length + " " + crc.getValue();
    }
}
