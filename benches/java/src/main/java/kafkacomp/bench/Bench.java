package kafkacomp.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Work that is timed whenever someone asks for it, so that a caller can time something else in turn with it; the JVM has no
 * other work between two passes.
 */
interface Bench {
    /** Does the work once. */
    void pass() throws IOException;

    /** What the last pass counted, as fields of a JSON object. */
    String counts();

    /** Warms up, prints {@code ready}, then times one pass for each line on standard input, and prints a JSON object each time. */
    static void serve(Bench bench, Options options) throws IOException {
        long warm = System.nanoTime() + 1_000_000L * Long.parseLong(options.get("warm-up-ms", "3000"));
        do {
            bench.pass();
        } while (System.nanoTime() < warm);
        System.out.println("ready");
        try (BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            while (commands.readLine() != null) {
                long start = System.nanoTime();
                bench.pass();
                double seconds = (System.nanoTime() - start) / 1e9;
                System.out.printf(Locale.ROOT, "{\"seconds\": %.9f, %s}%n", seconds, bench.counts());
            }
        }
    }
}
