"""Tests of what is file-like: the codecs' files and ``kafkacomp.open``."""
