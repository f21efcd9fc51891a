package kafkacomp.tools;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * What MemoryRecords reads from record sets: --cases, a file of (length, 4, big-endian; bytes); --out, a line for each:
 * with --form json the whole outcome, with --form digest 16 hexadecimal digits that stand for it. Records come from the
 * streaming iterator, as in a consumer.
 */
final class ReadRecords {
    private ReadRecords() {}

    static void run(Options options) throws IOException {
        options.only("cases", "out", "form");
        Path out = Path.of(options.get("out"));
        try (DataInputStream cases =
                new DataInputStream(new BufferedInputStream(Files.newInputStream(Path.of(options.get("cases"))), 1 << 16))) {
            switch (options.get("form")) {
                case "json" -> writeJson(cases, out);
                case "digest" -> writeDigests(cases, out);
                default -> throw new IllegalArgumentException("unknown form " + options.get("form"));
            }
        }
    }

    private static void writeJson(DataInputStream cases, Path out) throws IOException {
        BufferSupplier supplier = BufferSupplier.create();
        try (JsonGenerator json = JsonLines.writer(out)) {
            OutcomeJson sink = new OutcomeJson(json);
            for (byte[] data = next(cases); data != null; data = next(cases)) {
                read(data, sink, supplier);
            }
        }
    }

    private static void writeDigests(DataInputStream cases, Path out) throws IOException {
        BufferSupplier supplier = BufferSupplier.create();
        try (PrintStream lines = new PrintStream(
                new BufferedOutputStream(Files.newOutputStream(out)), false, StandardCharsets.US_ASCII)) {
            OutcomeDigest sink = new OutcomeDigest();
            for (byte[] data = next(cases); data != null; data = next(cases)) {
                read(data, sink, supplier);
                lines.println(sink.finish());
            }
        }
    }

    private static byte[] next(DataInputStream cases) throws IOException {
        int length;
        try {
            length = cases.readInt();
        } catch (EOFException end) {
            return null;
        }
        byte[] data = new byte[length];
        cases.readFully(data);
        return data;
    }

    private static void read(byte[] data, OutcomeSink sink, BufferSupplier supplier) throws IOException {
        int position = 0;
        Throwable failure = null;
        sink.begin();
        Iterator<MutableRecordBatch> batches =
                MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches().iterator();
        while (true) {
            MutableRecordBatch batch;
            try {
                if (!batches.hasNext()) {
                    break;
                }
                batch = batches.next();
            } catch (RuntimeException thrown) {
                failure = thrown;
                break;
            }
            sink.batch(position, batch, supplier);
            position += batch.sizeInBytes();
        }
        sink.end(position, failure);
    }
}
