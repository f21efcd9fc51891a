package kafkacomp.validator;

import java.util.Random;

/** What LogValidator is told. The text form is one line of tab-separated fields. */
record Config(
        int source,
        int target,
        Integer level,
        boolean compacted,
        byte toMagic,
        boolean appendTime,
        long before,
        long after,
        int epoch,
        String origin,
        String version,
        long offset,
        long now) {
    static final long NOW = 1_700_000_000_000L;
    private static final long[] LIMITS = {Long.MAX_VALUE, Long.MAX_VALUE, 3_600_000L, 1_000L, 0L};

    /** A configuration for records of this magic and codec; seldom one that does not fit them. */
    static Config random(Random random, byte magic, int codec) {
        int source = random.nextInt(14) == 0 ? random.nextInt(5) : codec;
        int target = random.nextInt(100) < 40 ? source : random.nextInt(5);
        byte toMagic = random.nextInt(100) < 65 ? magic : (byte) random.nextInt(3);
        String origin = switch (random.nextInt(10)) {
            case 0 -> "COORDINATOR";
            case 1 -> "RAFT_LEADER";
            case 2 -> "REPLICATION";
            default -> "CLIENT";
        };
        String version = random.nextInt(10) > 0 ? "latest" : random.nextBoolean() ? "2.0" : "2.1";
        return new Config(
                source,
                target,
                random.nextInt(4) > 0 ? null : level(random, target),
                random.nextInt(5) == 0,
                toMagic,
                random.nextInt(4) == 0,
                LIMITS[random.nextInt(LIMITS.length)],
                LIMITS[random.nextInt(LIMITS.length)],
                random.nextInt(1000) - 1,
                origin,
                version,
                random.nextInt(4) == 0 ? 0 : random.nextLong(1L << (3 + random.nextInt(58))),
                NOW + random.nextInt(3) - 1);
    }

    private static Integer level(Random random, int target) {
        return switch (target) {
            case 1 -> 1 + random.nextInt(9);
            case 3 -> 1 + random.nextInt(17);
            case 4 -> random.nextInt(12) - 4;
            default -> null;
        };
    }

    static Config parse(String line) {
        String[] f = line.split("\t", -1);
        return new Config(
                Integer.parseInt(f[0]),
                Integer.parseInt(f[1]),
                f[2].isEmpty() ? null : Integer.valueOf(f[2]),
                f[3].equals("1"),
                Byte.parseByte(f[4]),
                f[5].equals("1"),
                Long.parseLong(f[6]),
                Long.parseLong(f[7]),
                Integer.parseInt(f[8]),
                f[9],
                f[10],
                Long.parseLong(f[11]),
                Long.parseLong(f[12]));
    }

    @Override
    public String toString() {
        return String.join(
                "\t",
                String.valueOf(source),
                String.valueOf(target),
                level == null ? "" : level.toString(),
                compacted ? "1" : "0",
                String.valueOf(toMagic),
                appendTime ? "1" : "0",
                String.valueOf(before),
                String.valueOf(after),
                String.valueOf(epoch),
                origin,
                version,
                String.valueOf(offset),
                String.valueOf(now));
    }
}
