package kafkacomp.bench;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.Time;

/**
 * A segment written anew by Kafka's own classes, from file to file: each batch of FileRecords goes record by record through
 * a MemoryRecordsBuilder of another compression type, in one reused buffer, or through downConvert to an older format.
 */
public final class RewriteBench implements Bench {
    private static final int FIRST_BUFFER = 1 << 20; // more than a batch takes

    private final File file;
    private final Path out;
    private final Compression compression;
    private final byte toMagic;
    private ByteBuffer buffer = ByteBuffer.allocate(FIRST_BUFFER);
    private long records;
    private long batches;
    private long bytes;

    private RewriteBench(Options options) {
        file = new File(options.get("file"));
        out = Path.of(options.get("out"));
        toMagic = Byte.parseByte(options.get("to-magic", "2"));
        compression = Compression.of(CompressionType.forName(options.get("compression", "none"))).build();
    }

    public static void main(String[] args) throws IOException {
        Options options = Options.parse(args).only("file", "out", "compression", "to-magic", "warm-up-ms");
        Bench.serve(new RewriteBench(options), options);
    }

    @Override
    public String counts() {
        return String.format(Locale.ROOT, "\"records\": %d, \"batches\": %d, \"bytes\": %d", records, batches, bytes);
    }

    @Override
    public void pass() throws IOException {
        records = 0;
        batches = 0;
        bytes = 0;
        try (FileRecords source = FileRecords.open(file, false);
                FileChannel target = FileChannel.open(out, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE)) {
            for (FileChannelRecordBatch batch : source.batches()) {
                batch.ensureValid();
                MemoryRecords written = toMagic < batch.magic() ? lowered(batch) : recompressed(batch);
                batches++;
                bytes += written.sizeInBytes();
                written.writeFullyTo(target);
            }
            target.force(true);
        }
    }

    private MemoryRecords recompressed(RecordBatch batch) {
        buffer.clear();
        ByteBufferOutputStream stream = new ByteBufferOutputStream(buffer);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(stream, batch.magic(), compression, batch.timestampType(),
            batch.baseOffset(), batch.maxTimestamp(), batch.producerId(), batch.producerEpoch(), batch.baseSequence(),
            batch.isTransactional(), batch.isControlBatch(), batch.partitionLeaderEpoch(), Integer.MAX_VALUE);
        for (Record record : batch) {
            builder.append(record);
            records++;
        }
        MemoryRecords built = builder.build();
        buffer = stream.buffer(); // larger by now, if one was too small
        return built;
    }

    private MemoryRecords lowered(FileChannelRecordBatch batch) {
        buffer.clear();
        if (buffer.capacity() < batch.sizeInBytes()) {
            buffer = ByteBuffer.allocate(batch.sizeInBytes());
        }
        batch.writeTo(buffer);
        buffer.flip();
        records += batch.countOrNull();
        return MemoryRecords.readableRecords(buffer).downConvert(toMagic, 0, Time.SYSTEM).records();
    }
}
