"""Faults that are injected: memory that runs out, files of the caller's that fail."""
