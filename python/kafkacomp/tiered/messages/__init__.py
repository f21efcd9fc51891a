"""Kafka's messages, generated from its schemas by ``tools/make_messages.py``."""
