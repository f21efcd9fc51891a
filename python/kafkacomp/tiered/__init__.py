"""Segments in tiered storage (KIP-405): Kafka's LocalTieredStorage, and Aiven's plugin.

:func:`kafkacomp.scan` reads them, with what :class:`Tiered` says. The modules here are its parts:

============================================ =======================================================================
:mod:`kafkacomp.tiered.metadata`             records of ``__remote_log_metadata``, and the states of segments
:mod:`kafkacomp.tiered.source`               from a source to partitions that can be read
:mod:`kafkacomp.tiered.manifest`             what a manifest of Aiven's plugin says
:mod:`kafkacomp.tiered.lineage`              which offsets of which segment are valid
:mod:`kafkacomp.tiered.keys`                 private keys for encrypted segments
============================================ =======================================================================
"""

from __future__ import annotations

from kafkacomp.tiered.source import Tiered

__all__ = ["Tiered"]
