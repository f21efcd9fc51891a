package kafkacomp.validator;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/** Makes record sets by hand: sound ones, and such as no builder would write. One per case. */
final class Maker {
    private static final String[] HEADERS = {"k", "trace", "k\u00e9y-\u20ac-\ud83d\ude80", ""};

    private final Random random;
    final byte magic;
    final int codec;
    /** One in three inputs is sound but for what follows in {@link #damage}. */
    private final boolean odd;

    Maker(Random random) {
        this.random = random;
        magic = (byte) Math.min(2, random.nextInt(4));
        codec = random.nextInt(magic < 2 && random.nextInt(12) > 0 ? 4 : 5);
        odd = random.nextInt(3) == 0;
    }

    private boolean seldom(int of) {
        return odd && random.nextInt(of) == 0;
    }

    /** The whole record set. */
    byte[] make() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int sets = seldom(8) ? random.nextInt(3) : 1;
        for (int i = 0; i < sets; i++) {
            out.writeBytes(magic >= 2 ? batch() : legacySet(seldom(20) ? (byte) (1 - magic) : magic));
        }
        byte[] data = out.toByteArray();
        return random.nextInt(5) == 0 ? damage(data) : data;
    }

    private byte[] damage(byte[] data) {
        if (data.length == 0) {
            return data;
        }
        switch (random.nextInt(6)) {
            case 0 -> {
                byte[] cut = new byte[random.nextInt(data.length)];
                System.arraycopy(data, 0, cut, 0, cut.length);
                return cut;
            }
            case 1 -> {
                byte[] longer = java.util.Arrays.copyOf(data, data.length + 1 + random.nextInt(90));
                if (random.nextBoolean()) {
                    for (int i = data.length; i < longer.length; i++) {
                        longer[i] = (byte) random.nextInt();
                    }
                }
                return longer;
            }
            case 2 -> {
                int at = random.nextInt(Math.min(data.length, 61));
                data[at] ^= (byte) (1 << random.nextInt(8));
            }
            case 3 -> data[random.nextInt(data.length)] = (byte) random.nextInt();
            default -> {
                for (int i = random.nextInt(3); i >= 0; i--) {
                    data[random.nextInt(data.length)] ^= (byte) (1 << random.nextInt(8));
                }
            }
        }
        return data;
    }

    private byte[] bytes() {
        int kind = random.nextInt(20);
        if (kind < 3) {
            return null;
        }
        byte[] data = new byte[kind < 5 ? 0 : kind < 19 ? random.nextInt(40) : random.nextInt(3000)];
        if (random.nextBoolean()) {
            random.nextBytes(data);
        } else {
            java.util.Arrays.fill(data, (byte) ('a' + random.nextInt(20)));
        }
        return data;
    }

    private long timestamp() {
        return switch (random.nextInt(12)) {
            case 0 -> -1;
            case 1 -> Config.NOW - random.nextInt(8_000_000);
            case 2 -> Config.NOW + random.nextInt(8_000_000);
            case 3 -> seldom(4) ? random.nextLong() : Config.NOW;
            default -> Config.NOW - random.nextInt(500);
        };
    }

    private int records() {
        return seldom(25) ? 0 : 1 + random.nextInt(random.nextInt(6) == 0 ? 40 : 6);
    }

    // ------------------------------------------------------------------------------------------- formats 0 and 1

    private byte[] legacySet(byte setMagic) {
        int count = records();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        boolean appendTime = setMagic > 0 && random.nextInt(12) == 0;
        boolean compressed = codec > 0;
        int gap = seldom(6) ? 1 + random.nextInt(4) : 1;
        long first = compressed ? seldom(6) ? random.nextInt(9) : 0 : random.nextInt(3) == 0 ? random.nextInt(1000) : 0;
        long max = -1;
        long last = -1;
        for (int i = 0; i < count; i++) {
            byte innerMagic = compressed && seldom(15) ? (byte) random.nextInt(5) : setMagic;
            int attributes = (seldom(25) ? random.nextInt(8) : 0)
                    | (setMagic > 0 && (appendTime && !compressed || seldom(15)) ? 8 : 0)
                    | (seldom(10) ? random.nextInt(16) << 4 : 0);
            if (!compressed) {
                attributes &= 0xf8;
            }
            long time = timestamp();
            max = Math.max(max, time);
            last = first + (long) i * gap;
            out.writeBytes(message(last, innerMagic, attributes, time, bytes(), bytes(), compressed && seldom(15)));
        }
        if (!compressed) {
            return out.toByteArray();
        }
        byte[] inner = out.toByteArray();
        if (seldom(12) && inner.length > 0) {
            inner[random.nextInt(inner.length)] ^= (byte) (1 << random.nextInt(8));
        }
        if (seldom(20)) {
            inner = java.util.Arrays.copyOf(inner, inner.length + random.nextInt(40) - 10 > 0 ? inner.length + 9 : 0);
        }
        long offset = switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> seldom(2) ? last - 1 - random.nextInt(5) : last;
            case 2 -> seldom(2) ? last + random.nextInt(100) : last;
            default -> last;
        };
        byte[] value = seldom(30) ? null : Kafka.compress(codec, setMagic, inner);
        int attributes = codec | (appendTime ? 8 : 0) | (seldom(10) ? random.nextInt(16) << 4 : 0);
        return message(offset, setMagic, attributes, max, seldom(10) ? bytes() : null, value, false);
    }

    private byte[] message(long offset, byte of, int attributes, long time, byte[] key, byte[] value, boolean badCrc) {
        int size = 14 + (of > 0 ? 8 : 0) + (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
        ByteBuffer out = ByteBuffer.allocate(12 + size);
        out.putLong(offset).putInt(size).putInt(0).put(of).put((byte) attributes);
        if (of > 0) {
            out.putLong(time);
        }
        for (byte[] field : new byte[][] {key, value}) {
            int length = field == null ? -1 : field.length;
            out.putInt(seldom(60) ? length + random.nextInt(5) - 2 : length);
            if (field != null) {
                out.put(field);
            }
        }
        CRC32 crc = new CRC32();
        crc.update(out.array(), 16, size - 4);
        out.putInt(12, (int) crc.getValue() ^ (badCrc ? 1 : 0));
        return out.array();
    }

    // ------------------------------------------------------------------------------------------- format 2

    private byte[] batch() {
        int count = records();
        boolean hasProducer = random.nextInt(6) == 0;
        boolean transactional = hasProducer && random.nextInt(3) == 0 || seldom(20);
        boolean control = random.nextInt(25) == 0;
        long base = random.nextInt(8) == 0 ? random.nextInt(5000) : 0;
        long baseTime = timestamp();
        long max = -1;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int lastDelta = 0;
        for (int i = 0; i < count; i++) {
            long time = i == 0 && !seldom(10) ? baseTime : timestamp();
            max = Math.max(max, time);
            lastDelta = seldom(12) ? i + random.nextInt(4) : i;
            record(out, time - baseTime, lastDelta);
        }
        byte[] plain = out.toByteArray();
        if (seldom(8) && plain.length > 0) {
            plain[random.nextInt(plain.length)] ^= (byte) (1 << random.nextInt(8));
        }
        if (seldom(25)) {
            plain = java.util.Arrays.copyOf(plain, Math.max(0, plain.length + random.nextInt(9) - 4));
        }
        byte[] payload = codec == 0 ? plain : Kafka.compress(codec, (byte) 2, plain);
        if (seldom(20) && payload.length > 0) {
            payload[random.nextInt(payload.length)] ^= (byte) (1 << random.nextInt(8));
        }
        int attributes = codec
                | (random.nextInt(12) == 0 ? 8 : 0)
                | (transactional ? 16 : 0)
                | (control ? 32 : 0)
                | (seldom(15) ? 64 : 0)
                | (seldom(10) ? random.nextInt(512) << 7 : 0);
        int shown = seldom(12) ? count + random.nextInt(5) - 2 : count;
        ByteBuffer batch = ByteBuffer.allocate(61 + payload.length);
        batch.putLong(base).putInt(49 + payload.length).putInt(random.nextInt(20) - 1).put((byte) 2).putInt(0);
        batch.putShort((short) attributes)
                .putInt(seldom(12) ? lastDelta + random.nextInt(4) - 2 : count == 0 ? random.nextInt(3) - 1 : lastDelta)
                .putLong(baseTime)
                .putLong(seldom(6) ? timestamp() : max)
                .putLong(hasProducer ? random.nextInt(500) : -1)
                .putShort((short) (hasProducer && !seldom(8) ? random.nextInt(90) : -1))
                .putInt(hasProducer && !seldom(8) ? random.nextInt(90) : -1)
                .putInt(shown)
                .put(payload);
        CRC32C crc = new CRC32C();
        crc.update(batch.array(), 21, batch.capacity() - 21);
        batch.putInt(17, (int) crc.getValue() ^ (seldom(10) ? 1 : 0));
        return batch.array();
    }

    private void record(ByteArrayOutputStream out, long timeDelta, int offsetDelta) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.write(seldom(20) ? random.nextInt(256) : 0);
        varlong(body, timeDelta);
        varint(body, offsetDelta);
        field(body, bytes());
        field(body, bytes());
        int headers = random.nextInt(6) == 0 ? random.nextInt(3) : 0;
        varint(body, seldom(60) ? headers + random.nextInt(5) - 2 : headers);
        for (int i = 0; i < headers; i++) {
            byte[] name = HEADERS[random.nextInt(HEADERS.length)].getBytes(java.nio.charset.StandardCharsets.UTF_8);
            if (seldom(10) && name.length > 0) {
                name[random.nextInt(name.length)] = (byte) 0xff;
            }
            field(body, seldom(40) ? null : name);
            field(body, bytes());
        }
        varint(out, seldom(40) ? body.size() + random.nextInt(5) - 2 : body.size());
        out.writeBytes(body.toByteArray());
    }

    private void field(ByteArrayOutputStream out, byte[] field) {
        int length = field == null ? seldom(9) ? -1 - random.nextInt(9) : -1 : field.length;
        varint(out, seldom(80) ? length + random.nextInt(5) - 2 : length);
        if (field != null) {
            out.writeBytes(field);
        }
    }

    private void varint(ByteArrayOutputStream out, int value) {
        pad(out, ((value << 1) ^ (value >> 31)) & 0xffffffffL, 5);
    }

    private void varlong(ByteArrayOutputStream out, long value) {
        pad(out, (value << 1) ^ (value >> 63), 10);
    }

    /** A varint, now and then with groups of zeros behind it, or one byte too long. */
    private void pad(ByteArrayOutputStream out, long folded, int most) {
        int length = 1;
        for (long rest = folded >>> 7; rest != 0; rest >>>= 7) {
            length++;
        }
        if (seldom(40)) {
            length = Math.min(most + (random.nextInt(20) == 0 ? 1 : 0), length + 1 + random.nextInt(4));
        }
        for (int i = 1; i < length; i++) {
            out.write((int) (folded & 0x7f) | 0x80);
            folded >>>= 7;
        }
        out.write((int) (folded & 0x7f));
    }
}
