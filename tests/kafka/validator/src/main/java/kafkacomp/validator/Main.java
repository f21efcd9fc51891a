package kafkacomp.validator;

import java.io.BufferedOutputStream;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Kafka's LogValidator on record sets: `generate SEED COUNT FOLDER` makes cases and answers them, `answer FOLDER`
 * answers those that are there. README.md has the files' form.
 */
final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        switch (args[0]) {
            case "generate" -> generate(Long.parseLong(args[1]), Integer.parseInt(args[2]), Path.of(args[3]));
            case "answer" -> answer(Path.of(args[1]), args[2]);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void generate(long seed, int count, Path folder) throws IOException {
        try (OutputStream data = new BufferedOutputStream(Files.newOutputStream(folder.resolve("cases.bin")));
                BufferedWriter configs = Files.newBufferedWriter(folder.resolve("configs.tsv"))) {
            for (int n = 0; n < count; n++) {
                Random random = new Random(seed * 1_000_003L + n);
                Maker maker = new Maker(random);
                byte[] input = maker.make();
                data.write(input);
                configs.write(input.length + "\t" + Config.random(random, maker.magic, maker.codec) + "\n");
            }
        }
    }

    private static void answer(Path folder, String name) throws IOException {
        byte[] all = Files.readAllBytes(folder.resolve("cases.bin"));
        List<String> configs = Files.readAllLines(folder.resolve("configs.tsv"));
        int at = 0;
        try (BufferedWriter out = Files.newBufferedWriter(folder.resolve(name))) {
            for (String line : configs) {
                int tab = line.indexOf('\t');
                int length = Integer.parseInt(line.substring(0, tab));
                byte[] input = Arrays.copyOfRange(all, at, at + length);
                at += length;
                out.write(Kafka.validate(input, Config.parse(line.substring(tab + 1))) + "\n");
            }
        }
    }
}
