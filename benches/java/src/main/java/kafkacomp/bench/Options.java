package kafkacomp.bench;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Arguments of the form {@code --name value}. */
final class Options {
    private final Map<String, String> values = new HashMap<>();

    private Options() {}

    static Options parse(String[] args) {
        Options options = new Options();
        for (int i = 0; i < args.length; i += 2) {
            if (!args[i].startsWith("--") || i + 1 == args.length) {
                throw new IllegalArgumentException("expected --name value, got " + args[i]);
            }
            options.values.put(args[i].substring(2), args[i + 1]);
        }
        return options;
    }

    /** Refuses names that the tool does not know, so that a misspelt option is not silently ignored. */
    Options only(String... names) {
        Set<String> known = Set.of(names);
        for (String name : values.keySet()) {
            if (!known.contains(name)) {
                throw new IllegalArgumentException("unknown option --" + name);
            }
        }
        return this;
    }

    String get(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("missing option --" + name);
        }
        return value;
    }

    String get(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }
}
