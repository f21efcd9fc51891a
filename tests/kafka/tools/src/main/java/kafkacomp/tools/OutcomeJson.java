package kafkacomp.tools;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.Record;

/** Writes outcomes in the form of the oracle's expectation files. */
final class OutcomeJson extends OutcomeSink {
    private final JsonGenerator json;

    OutcomeJson(JsonGenerator json) {
        this.json = json;
    }

    @Override
    void begin() throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("batches");
    }

    @Override
    void end(int position, Throwable failure) throws IOException {
        json.writeEndArray();
        json.writeFieldName("err");
        error(failure, -1);
        json.writeNumberField("end", position);
        json.writeEndObject();
    }

    @Override
    void beginBatch() throws IOException {
        json.writeStartObject();
    }

    @Override
    void field(String name, Object value) throws IOException {
        json.writeFieldName(name);
        if (value instanceof Throwable thrown && name.equals("ev")) {
            error(thrown, -1);
        } else if (value instanceof Throwable thrown) {
            json.writeStartObject();
            json.writeStringField("!", thrown.getClass().getSimpleName());
            json.writeEndObject();
        } else {
            json.writeObject(value);
        }
    }

    @Override
    void beginRecords() throws IOException {
        json.writeArrayFieldStart("recs");
    }

    @Override
    void record(Record record, int timestampType, Boolean valid) throws IOException {
        json.writeStartArray();
        json.writeNumber(record.offset());
        json.writeNumber(record.timestamp());
        json.writeNumber(timestampType);
        bytes(record.key());
        bytes(record.value());
        json.writeStartArray();
        for (Header header : record.headers()) {
            json.writeStartArray();
            json.writeString(header.key());
            bytes(header.value() == null ? null : ByteBuffer.wrap(header.value()));
            json.writeEndArray();
        }
        json.writeEndArray();
        json.writeNumber(record.sequence());
        json.writeObject(valid);
        json.writeEndArray();
    }

    @Override
    void endRecords(int count, Throwable failure) throws IOException {
        json.writeEndArray();
        json.writeFieldName("err");
        error(failure, count);
        json.writeEndObject();
    }

    private void bytes(ByteBuffer value) throws IOException {
        if (value == null) {
            json.writeNull();
        } else {
            byte[] copy = new byte[value.remaining()];
            value.duplicate().get(copy);
            json.writeBinary(copy);
        }
    }

    private void error(Throwable failure, int count) throws IOException {
        if (failure == null) {
            json.writeNull();
            return;
        }
        json.writeStartObject();
        json.writeStringField("c", failure.getClass().getSimpleName());
        json.writeNumberField("code", Errors.forException(failure).code());
        json.writeStringField("m", String.valueOf(failure.getMessage()));
        json.writeArrayFieldStart("causes");
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            json.writeString(cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }
        json.writeEndArray();
        if (count >= 0) {
            json.writeNumberField("i", count);
        }
        json.writeEndObject();
    }
}
