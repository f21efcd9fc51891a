package kafkacomp.tools;

import java.io.IOException;
import java.util.Iterator;
import java.util.function.Supplier;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/** Takes what was read from a record set, piece by piece. */
abstract class OutcomeSink {
    /** A record set begins. */
    abstract void begin() throws IOException;

    /** The record set ended at this byte, or an exception ended it. */
    abstract void end(int position, Throwable failure) throws IOException;

    /** A field of a batch: a Number, a Boolean, null, or the Throwable that came instead. */
    abstract void field(String name, Object value) throws IOException;

    abstract void beginBatch() throws IOException;

    abstract void beginRecords() throws IOException;

    /** A record and its timestamp type's id; {@code valid} is the verdict on its own checksum, null where it has none. */
    abstract void record(Record record, int timestampType, Boolean valid) throws IOException;

    /** The records ended after so many, or an exception ended them. */
    abstract void endRecords(int count, Throwable failure) throws IOException;

    final void batch(int position, MutableRecordBatch batch, BufferSupplier supplier) throws IOException {
        beginBatch();
        field("pos", position);
        field("size", batch.sizeInBytes());
        field("magic", (int) batch.magic());
        tried("base_offset", batch::baseOffset);
        tried("last_offset", batch::lastOffset);
        tried("crc", batch::checksum);
        tried("ct", () -> batch.compressionType().id);
        tried("tt", () -> batch.timestampType().id);
        tried("max_ts", batch::maxTimestamp);
        // The interface does not have the base timestamp of a batch; a message's own time stands for it.
        tried("base_ts", () -> batch instanceof DefaultRecordBatch b ? b.baseTimestamp() : batch.maxTimestamp());
        tried("count", batch::countOrNull);
        tried("ple", batch::partitionLeaderEpoch);
        tried("pid", batch::producerId);
        tried("pepoch", () -> (int) batch.producerEpoch());
        tried("bseq", batch::baseSequence);
        tried("lseq", batch::lastSequence);
        tried("txn", batch::isTransactional);
        tried("ctl", batch::isControlBatch);
        tried("dh", () -> batch.deleteHorizonMs().isPresent() ? batch.deleteHorizonMs().getAsLong() : null);
        tried("valid", batch::isValid);
        records(batch, supplier);
    }

    private void tried(String name, Supplier<Object> getter) throws IOException {
        Object value;
        try {
            value = getter.get();
        } catch (RuntimeException | Error thrown) {
            value = thrown;
        }
        field(name, value);
    }

    private void records(MutableRecordBatch batch, BufferSupplier supplier) throws IOException {
        Object verdict = null;
        try {
            batch.ensureValid();
        } catch (RuntimeException thrown) {
            verdict = thrown;
        }
        field("ev", verdict);
        beginRecords();
        int count = 0;
        Throwable failure = null;
        try (CloseableIterator<Record> records = batch.streamingIterator(supplier)) {
            count = records(batch, records);
        } catch (Stopped stopped) {
            count = stopped.count;
            failure = stopped.getCause();
        } catch (RuntimeException | Error thrown) { // snappy-java throws an Error of its own
            failure = thrown;
        }
        endRecords(count, failure);
    }

    private int records(MutableRecordBatch batch, Iterator<Record> records) throws IOException {
        int count = 0;
        while (true) {
            Record record;
            int timestampType;
            Boolean valid;
            try {
                if (!records.hasNext()) {
                    return count;
                }
                record = records.next();
                timestampType = timestampType(batch, record);
                valid = record instanceof AbstractLegacyRecordBatch message ? message.isValid() : null;
                // A message's key and value are looked at only now.
                record.key();
                record.value();
            } catch (RuntimeException | Error thrown) {
                throw new Stopped(count, thrown);
            }
            record(record, timestampType, valid);
            count++;
        }
    }

    /** Records of magic 2 do not know their type, the batch does; messages inside a wrapper may differ from it. */
    private static int timestampType(MutableRecordBatch batch, Record record) {
        if (batch.magic() >= RecordBatch.MAGIC_VALUE_V2) {
            return batch.timestampType().id;
        }
        for (TimestampType type : TimestampType.values()) {
            if (record.hasTimestampType(type)) {
                return type.id;
            }
        }
        throw new IllegalStateException("a record without a timestamp type");
    }

    /** Ends the records of one batch. */
    private static final class Stopped extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final int count;

        private Stopped(int count, Throwable cause) {
            super(cause);
            this.count = count;
        }
    }
}
