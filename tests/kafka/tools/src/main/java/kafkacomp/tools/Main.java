package kafkacomp.tools;

import java.util.Arrays;

/** Entry point: the first argument names the tool, the rest are its own. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        if (args.length == 0) {
            usage();
            return;
        }
        Options options = Options.parse(Arrays.copyOfRange(args, 1, args.length));
        switch (args[0]) {
            case "create-topic" -> CreateTopic.run(options);
            case "produce" -> Produce.run(options);
            case "consume" -> Consume.run(options);
            case "dump" -> Dump.run(options);
            case "compress" -> Compress.run(options);
            case "describe-producers" -> DescribeProducers.run(options);
            case "decompress" -> Decompress.run(options);
            case "read-records" -> ReadRecords.run(options);
            default -> usage();
        }
    }

    private static void usage() {
        System.err.println(
            "usage: Main create-topic|produce|consume|dump|describe-producers|compress|decompress|read-records --name value ...");
        System.exit(2);
    }
}
