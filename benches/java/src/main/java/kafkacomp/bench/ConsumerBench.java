package kafkacomp.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.kafka.common.utils.Utils;

/**
 * Kafka's consumer path over one segment: MemoryRecords over a heap buffer, as a fetch response is, or FileRecords; each
 * batch's CRC checked, its records iterated by streamingIterator with one BufferSupplier for all.
 *
 * <p>A record is delivered as {@code touch}: offset, timestamp, sizes and first bytes are read, nothing is copied; as
 * {@code copy}: key and value become byte arrays, as ByteArrayDeserializer makes them; or as {@code poll}: as a
 * ConsumerRecord with such arrays, 500 at a time in a list, as KafkaConsumer.poll returns them.
 */
public final class ConsumerBench implements Bench {
    private enum Delivery { TOUCH, COPY, POLL }

    private static final int MAX_POLL_RECORDS = 500; // KafkaConsumer's default
    private static final String TOPIC = "flights";

    private final BufferSupplier buffers = BufferSupplier.create();
    private final Delivery delivery;
    private final Path file;
    private final byte[] bytes; // null: the file is read in each pass
    private List<ConsumerRecord<byte[], byte[]>> polled = new ArrayList<>();
    private long records;
    private long digest;

    private ConsumerBench(Options options) throws IOException {
        file = Path.of(options.get("file"));
        bytes = switch (options.get("mode")) {
            case "memory" -> Files.readAllBytes(file);
            case "file" -> null;
            default -> throw new IllegalArgumentException("--mode is memory or file");
        };
        delivery = Delivery.valueOf(options.get("deliver").toUpperCase(Locale.ROOT));
    }

    public static void main(String[] args) throws IOException {
        Options options = Options.parse(args).only("file", "mode", "deliver", "warm-up-ms");
        Bench.serve(new ConsumerBench(options), options);
    }

    @Override
    public String counts() {
        return String.format(Locale.ROOT, "\"records\": %d, \"digest\": %d", records, digest);
    }

    @Override
    public void pass() throws IOException {
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
                    deliver(batch, iterator.next());
                }
            }
        }
    }

    private void deliver(RecordBatch batch, Record record) {
        records++;
        long sum = record.offset() ^ record.timestamp();
        switch (delivery) {
            case TOUCH -> sum += look(record.key()) + look(record.value()) + look(record.headers());
            case COPY -> sum += look(Utils.toNullableArray(record.key())) + look(Utils.toNullableArray(record.value()))
                + look(record.headers());
            case POLL -> sum += look(poll(batch, record));
        }
        digest += sum;
    }

    private ConsumerRecord<byte[], byte[]> poll(RecordBatch batch, Record record) {
        byte[] key = Utils.toNullableArray(record.key());
        byte[] value = Utils.toNullableArray(record.value());
        ConsumerRecord<byte[], byte[]> polledRecord = new ConsumerRecord<>(
            TOPIC, 0, record.offset(), record.timestamp(), batch.timestampType(),
            key == null ? ConsumerRecord.NULL_SIZE : key.length, value == null ? ConsumerRecord.NULL_SIZE : value.length,
            key, value, new RecordHeaders(record.headers()), Optional.of(batch.partitionLeaderEpoch()));
        if (polled.size() == MAX_POLL_RECORDS) {
            polled = new ArrayList<>();
        }
        polled.add(polledRecord);
        return polledRecord;
    }

    private static long look(ConsumerRecord<byte[], byte[]> record) {
        return look(record.key()) + look(record.value()) + look(record.headers().toArray());
    }

    private static long look(Header[] headers) {
        long sum = 0;
        for (Header header : headers) {
            sum += header.key().length() + look(header.value());
        }
        return sum;
    }

    private static long look(ByteBuffer buffer) {
        if (buffer == null) {
            return -1;
        }
        return buffer.remaining() == 0 ? 0 : buffer.remaining() + buffer.get(buffer.position());
    }

    private static long look(byte[] array) {
        if (array == null) {
            return -1;
        }
        return array.length == 0 ? 0 : array.length + array[0];
    }
}
