package kafkacomp.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * Kafka's consumer path over one segment: MemoryRecords over a heap buffer, as a fetch response is, or FileRecords; each
 * batch's CRC checked, its records iterated by streamingIterator with one BufferSupplier for all.
 *
 * <p>Warms up, prints {@code ready}, then times one pass for each line on standard input. So that a caller can time another
 * reader in turn with this one; the JVM has no other work between two passes.
 *
 * <p>A record is delivered as {@code touch}: offset, timestamp, sizes and first bytes are read, nothing is copied; or as
 * {@code copy}: key and value become byte arrays, as ByteArrayDeserializer makes them.
 */
public final class ConsumerBench {
    private final BufferSupplier buffers = BufferSupplier.create();
    private final boolean copy;
    private long records;
    private long digest;

    private ConsumerBench(boolean copy) {
        this.copy = copy;
    }

    public static void main(String[] args) throws IOException {
        Options options = Options.parse(args).only("file", "mode", "deliver", "warm-up-ms");
        Path file = Path.of(options.get("file"));
        boolean inMemory = switch (options.get("mode")) {
            case "memory" -> true;
            case "file" -> false;
            default -> throw new IllegalArgumentException("--mode is memory or file");
        };
        boolean copy = switch (options.get("deliver", "touch")) {
            case "touch" -> false;
            case "copy" -> true;
            default -> throw new IllegalArgumentException("--deliver is touch or copy");
        };
        ConsumerBench bench = new ConsumerBench(copy);
        byte[] bytes = inMemory ? Files.readAllBytes(file) : null;
        long warm = System.nanoTime() + 1_000_000L * Long.parseLong(options.get("warm-up-ms", "3000"));
        do {
            bench.pass(file, bytes);
        } while (System.nanoTime() < warm);
        System.out.println("ready");
        try (BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            while (commands.readLine() != null) {
                long start = System.nanoTime();
                bench.pass(file, bytes);
                double seconds = (System.nanoTime() - start) / 1e9;
                System.out.printf(Locale.ROOT, "{\"seconds\": %.9f, \"records\": %d, \"digest\": %d}%n",
                    seconds, bench.records, bench.digest);
            }
        }
    }

    private void pass(Path file, byte[] bytes) throws IOException {
        records = 0;
        digest = 0;
        if (bytes != null) {
            consume(MemoryRecords.readableRecords(ByteBuffer.wrap(bytes)));
        } else {
            try (FileRecords fileRecords = FileRecords.open(file.toFile(), false)) {
                consume(fileRecords);
            }
        }
    }

    private void consume(Records source) {
        for (RecordBatch batch : source.batches()) {
            batch.ensureValid();
            try (CloseableIterator<Record> iterator = batch.streamingIterator(buffers)) {
                while (iterator.hasNext()) {
                    deliver(iterator.next());
                }
            }
        }
    }

    private void deliver(Record record) {
        records++;
        long sum = record.offset() ^ record.timestamp();
        sum += bytes(record.key());
        sum += bytes(record.value());
        for (Header header : record.headers()) {
            sum += header.key().length();
            sum += bytes(header.value() == null ? null : ByteBuffer.wrap(header.value()));
        }
        digest += sum;
    }

    private long bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return -1;
        }
        int size = buffer.remaining();
        if (size == 0) {
            return 0;
        }
        if (!copy) {
            return size + buffer.get(buffer.position());
        }
        byte[] own = new byte[size];
        buffer.get(buffer.position(), own);
        return size + own[0];
    }
}
