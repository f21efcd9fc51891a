"""Faults that are injected: memory that runs out."""
