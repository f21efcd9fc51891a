package kafkacomp.tools;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * What Kafka's own compressing streams make of bytes: --cases, a file of (id, 1; magic, 1; level, 4; length, 4; bytes),
 * big-endian, a level of -2^31 being the default; --out, a file of (length, 4; bytes) for each.
 */
final class Compress {
    private Compress() {}

    static void run(Options options) throws IOException {
        options.only("cases", "out");
        try (DataInputStream cases = new DataInputStream(
                        new BufferedInputStream(Files.newInputStream(Path.of(options.get("cases")))));
                DataOutputStream out = new DataOutputStream(
                        new BufferedOutputStream(Files.newOutputStream(Path.of(options.get("out")))))) {
            for (int id = cases.read(); id >= 0; id = cases.read()) {
                byte magic = cases.readByte();
                Compression compression = compression(CompressionType.forId(id), cases.readInt());
                byte[] data = new byte[cases.readInt()];
                cases.readFully(data);
                ByteBufferOutputStream compressed = new ByteBufferOutputStream(512);
                try (OutputStream stream = compression.wrapForOutput(compressed, magic)) {
                    stream.write(data);
                }
                out.writeInt(compressed.position());
                out.write(compressed.buffer().array(), 0, compressed.position());
            }
        }
    }

    private static Compression compression(CompressionType type, int level) {
        if (level == Integer.MIN_VALUE) {
            return Compression.of(type).build();
        }
        return switch (type) {
            case GZIP -> Compression.gzip().level(level).build();
            case LZ4 -> Compression.lz4().level(level).build();
            case ZSTD -> Compression.zstd().level(level).build();
            default -> throw new IllegalArgumentException(type + " has no levels");
        };
    }
}
