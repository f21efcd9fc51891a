package kafkacomp.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.DefaultRecord;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;

/**
 * Writes one segment with Kafka's own builder: magic 2, CreateTime, null keys, the payload's lines as values, over and over
 * until there are enough records. A batch ends at a number of records, or where the next record would take its
 * uncompressed size over a number of bytes.
 */
public final class MakeSegments {
    private static final long START = 1_356_998_400_000L; // 2013-01-01, when the flights begin

    private MakeSegments() {}

    public static void main(String[] args) throws IOException {
        Options options = Options.parse(args)
            .only("payload", "out", "codec", "records", "batch-records", "batch-bytes", "value-bytes");
        List<byte[]> values = values(Path.of(options.get("payload")), Integer.parseInt(options.get("value-bytes", "0")));
        Path out = Path.of(options.get("out"));
        Path unfinished = out.resolveSibling(out.getFileName() + ".part");
        Files.createDirectories(out.getParent());
        try (FileChannel channel = FileChannel.open(unfinished, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING)) {
            write(channel, values, Long.parseLong(options.get("records")),
                Compression.of(CompressionType.forName(options.get("codec"))).build(),
                Integer.parseInt(options.get("batch-records", String.valueOf(Integer.MAX_VALUE))),
                Integer.parseInt(options.get("batch-bytes", String.valueOf(Integer.MAX_VALUE))));
        }
        Files.move(unfinished, out, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void write(FileChannel channel, List<byte[]> values, long records, Compression compression,
                              int batchRecords, int batchBytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        long offset = 0;
        while (offset < records) {
            buffer.clear();
            MemoryRecordsBuilder batch = MemoryRecords.builder(
                buffer, RecordBatch.CURRENT_MAGIC_VALUE, compression, TimestampType.CREATE_TIME, offset);
            do {
                batch.appendWithOffset(offset, START + offset, null, values.get((int) (offset % values.size())));
                offset++;
            } while (offset < records && batch.numRecords() < batchRecords
                && fits(batch, values.get((int) (offset % values.size())), batchBytes));
            ByteBuffer built = batch.build().buffer();
            while (built.hasRemaining()) {
                channel.write(built);
            }
        }
    }

    private static boolean fits(MemoryRecordsBuilder batch, byte[] value, int batchBytes) {
        return (long) batch.uncompressedBytesWritten() + DefaultRecord.MAX_RECORD_OVERHEAD + value.length <= batchBytes;
    }

    /** The payload's lines; with a size, as many of them as fill a value of at least that size, cut to it. */
    private static List<byte[]> values(Path payload, int valueBytes) throws IOException {
        if (valueBytes == 0) {
            return Files.readAllLines(payload).stream().map(line -> line.getBytes(StandardCharsets.UTF_8)).toList();
        }
        byte[] all = Files.readAllBytes(payload);
        List<byte[]> values = new ArrayList<>();
        for (int start = 0; start + valueBytes <= all.length; start += valueBytes) {
            values.add(Arrays.copyOfRange(all, start, start + valueBytes));
        }
        return values;
    }
}
