import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.kafka.common.utils.Utils;

/**
 * Kafka's own codecs, batch builder and consumer path, started as a source file with kafka-clients on the class path.
 *
 * <p>Arguments: codec, level (or -), files with the plain blocks, the compressed blocks and the batches. Blocks are stored as
 * a length in four bytes, big-endian, and so many bytes; the batches as they lie in a log.
 *
 * <p>Prints the version when ready. Each line on standard input is a stage (compress, decompress, build, iterate) and is
 * answered with the nanoseconds of one pass; a stage and a file name is answered with 0 and the stage's results are in the
 * file, as blocks; those of iterate as one block for each record: offset, timestamp, key, value, headers.
 *
 * <p>Records are delivered as KafkaConsumer.poll delivers them: CRC checked, streamingIterator with kept buffers, key and value
 * as byte arrays in a ConsumerRecord, 500 in a list.
 */
public final class KafkaPeer {
    private static final int MAX_POLL_RECORDS = 500; // KafkaConsumer's default
    private static final int FIRST_BUFFER = 16 << 10; // KafkaProducer's default batch.size

    private final BufferSupplier buffers = BufferSupplier.create();
    private final Compression compression;
    private final List<byte[]> plain;
    private final List<byte[]> compressed;
    private final byte[] log;
    private final byte[] room;
    private List<List<Record>> rows;
    private List<ConsumerRecord<byte[], byte[]>> polled = new ArrayList<>();

    private KafkaPeer(String codec, String level, Path plain, Path compressed, Path log) throws IOException {
        this.compression = compression(codec, level);
        this.plain = blocks(plain);
        this.compressed = blocks(compressed);
        this.log = Files.readAllBytes(log);
        int largest = 0;
        for (byte[] block : this.plain) {
            largest = Math.max(largest, block.length);
        }
        this.room = new byte[largest + 1];
    }

    public static void main(String[] args) throws IOException {
        KafkaPeer peer = new KafkaPeer(args[0], args[1], Path.of(args[2]), Path.of(args[3]), Path.of(args[4]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("kafka-clients " + AppInfoParser.getVersion() + ", Java " + System.getProperty("java.version"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 2);
            if (words.length == 1) {
                System.out.println(peer.timed(words[0]));
                continue;
            }
            try (DataOutputStream out = new DataOutputStream(
                    new BufferedOutputStream(Files.newOutputStream(Path.of(words[1]))))) {
                peer.pass(words[0], out);
            }
            System.out.println(0);
        }
    }

    private long timed(String stage) throws IOException {
        long start = System.nanoTime();
        pass(stage, null);
        return System.nanoTime() - start;
    }

    private void pass(String stage, DataOutputStream results) throws IOException {
        switch (stage) {
            case "compress":
                for (byte[] block : plain) {
                    give(results, compress(block));
                }
                break;
            case "decompress":
                for (byte[] block : compressed) {
                    give(results, ByteBuffer.wrap(room, 0, decompress(block)));
                }
                break;
            case "build":
                for (List<Record> batch : rows()) {
                    give(results, build(batch));
                }
                break;
            case "iterate":
                iterate(results);
                break;
            default:
                throw new IllegalArgumentException(stage);
        }
    }

    private ByteBuffer compress(byte[] block) throws IOException {
        ByteBufferOutputStream out = new ByteBufferOutputStream(FIRST_BUFFER);
        try (OutputStream stream = compression.wrapForOutput(out, RecordBatch.MAGIC_VALUE_V2)) {
            stream.write(block);
        }
        ByteBuffer made = out.buffer();
        made.flip();
        return made;
    }

    private int decompress(byte[] block) throws IOException {
        int at = 0;
        try (InputStream in = compression.wrapForInput(ByteBuffer.wrap(block), RecordBatch.MAGIC_VALUE_V2, buffers)) {
            for (int read = in.read(room, at, room.length - at); read > 0; read = in.read(room, at, room.length - at)) {
                at += read;
            }
        }
        return at;
    }

    private ByteBuffer build(List<Record> batch) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(FIRST_BUFFER), RecordBatch.MAGIC_VALUE_V2, compression, TimestampType.CREATE_TIME,
            batch.get(0).offset());
        for (Record record : batch) {
            builder.append(record.timestamp(), record.key(), record.value(), record.headers());
        }
        return builder.build().buffer();
    }

    private List<List<Record>> rows() {
        if (rows == null) {
            rows = new ArrayList<>();
            for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(log)).batches()) {
                List<Record> records = new ArrayList<>();
                batch.forEach(records::add);
                rows.add(records);
            }
        }
        return rows;
    }

    private void iterate(DataOutputStream results) throws IOException {
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(log)).batches()) {
            batch.ensureValid();
            try (CloseableIterator<Record> records = batch.streamingIterator(buffers)) {
                while (records.hasNext()) {
                    Record record = records.next();
                    byte[] key = record.hasKey() ? Utils.toArray(record.key()) : null;
                    byte[] value = record.hasValue() ? Utils.toArray(record.value()) : null;
                    polled.add(new ConsumerRecord<>("bench", 0, record.offset(), key, value));
                    if (polled.size() == MAX_POLL_RECORDS) {
                        polled = new ArrayList<>();
                    }
                    if (results != null) {
                        describe(results, record, key, value);
                    }
                }
            }
        }
    }

    private static void describe(DataOutputStream out, Record record, byte[] key, byte[] value) throws IOException {
        out.writeLong(record.offset());
        out.writeLong(record.timestamp());
        describe(out, key);
        describe(out, value);
        out.writeInt(record.headers().length);
        for (Header header : record.headers()) {
            describe(out, header.key().getBytes(StandardCharsets.UTF_8));
            describe(out, header.value());
        }
    }

    private static void describe(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) {
            out.write(bytes);
        }
    }

    private static void give(DataOutputStream results, ByteBuffer block) throws IOException {
        if (results != null) {
            results.writeInt(block.remaining());
            results.write(Utils.toArray(block));
        }
    }

    private static List<byte[]> blocks(Path path) throws IOException {
        List<byte[]> found = new ArrayList<>();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(path)))) {
            long left = Files.size(path);
            while (left > 0) {
                byte[] block = new byte[in.readInt()];
                in.readFully(block);
                left -= Integer.BYTES + block.length;
                found.add(block);
            }
        }
        return found;
    }

    private static Compression compression(String codec, String level) {
        boolean leveled = !level.equals("-");
        switch (codec.toLowerCase(Locale.ROOT)) {
            case "none":
                return Compression.NONE;
            case "snappy":
                return Compression.snappy().build();
            case "gzip":
                return leveled ? Compression.gzip().level(Integer.parseInt(level)).build() : Compression.gzip().build();
            case "lz4":
                return leveled ? Compression.lz4().level(Integer.parseInt(level)).build() : Compression.lz4().build();
            case "zstd":
                return leveled ? Compression.zstd().level(Integer.parseInt(level)).build() : Compression.zstd().build();
            default:
                throw new IllegalArgumentException(codec);
        }
    }
}
