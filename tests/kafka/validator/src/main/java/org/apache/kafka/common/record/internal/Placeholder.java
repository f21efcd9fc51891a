package org.apache.kafka.common.record.internal;

/** Without a class a package does not exist for the compiler. */
final class Placeholder {
    private Placeholder() {}
}
