package kafkacomp.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * Kafka's producer path without the network: lines become the values of records, records batches of magic 2 by
 * MemoryRecordsBuilder, a batch closed when hasRoomFor says so, in one reused buffer, as the producer's pool reuses its own.
 */
public final class BuildBench implements Bench {
    private static final long FIRST_TIMESTAMP = 1_700_000_000_000L;
    private static final int SPARE = 64 << 10; // so that a batch hardly ever needs a larger buffer

    private final List<byte[]> values = new ArrayList<>();
    private final Compression compression;
    private final int batchBytes;
    private final ByteBuffer buffer;
    private long bytes;
    private long batches;
    private long digest;

    private BuildBench(Options options) throws IOException {
        for (String line : Files.readAllLines(Path.of(options.get("file")))) {
            values.add(line.getBytes(StandardCharsets.UTF_8));
        }
        compression = Compression.of(CompressionType.forName(options.get("compression"))).build();
        batchBytes = Integer.parseInt(options.get("batch-bytes"));
        buffer = ByteBuffer.allocate(batchBytes + SPARE);
    }

    public static void main(String[] args) throws IOException {
        Options options = Options.parse(args).only("file", "compression", "batch-bytes", "warm-up-ms");
        Bench.serve(new BuildBench(options), options);
    }

    @Override
    public String counts() {
        return String.format(Locale.ROOT, "\"records\": %d, \"batches\": %d, \"bytes\": %d, \"digest\": %d",
            values.size(), batches, bytes, digest);
    }

    @Override
    public void pass() {
        bytes = 0;
        batches = 0;
        digest = 0;
        MemoryRecordsBuilder builder = null;
        for (int offset = 0; offset < values.size(); offset++) {
            byte[] value = values.get(offset);
            long timestamp = FIRST_TIMESTAMP + offset;
            if (builder == null || !builder.hasRoomFor(timestamp, (byte[]) null, value, Record.EMPTY_HEADERS)) {
                finish(builder);
                builder = begin(offset);
            }
            builder.append(timestamp, (byte[]) null, value);
        }
        finish(builder);
    }

    private MemoryRecordsBuilder begin(long baseOffset) {
        buffer.clear();
        return new MemoryRecordsBuilder(new ByteBufferOutputStream(buffer), RecordBatch.MAGIC_VALUE_V2, compression,
            TimestampType.CREATE_TIME, baseOffset, RecordBatch.NO_TIMESTAMP, RecordBatch.NO_PRODUCER_ID,
            RecordBatch.NO_PRODUCER_EPOCH, RecordBatch.NO_SEQUENCE, false, false, RecordBatch.NO_PARTITION_LEADER_EPOCH, batchBytes);
    }

    private void finish(MemoryRecordsBuilder builder) {
        if (builder != null) {
            MemoryRecords built = builder.build();
            bytes += built.sizeInBytes();
            batches++;
            digest += built.buffer().getInt(17) & 0xFFFFFFFFL; // the batch's CRC
        }
    }
}
