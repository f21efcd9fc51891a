"""Corruption injected into intact logs, and what each tool answers."""
