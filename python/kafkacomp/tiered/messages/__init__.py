"""Kafka's own messages, made from its schemas by ``tools/make_messages.py``."""
