"""``spark.readStream``: not there, a log folder is read in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

__all__ = ["reader"]


def reader(options: Mapping[str, str], schema: StructType) -> NoReturn:  # noqa: ARG001 - what a reader would need
    """Say so."""
    raise ValueError("kafkacomp does not follow logs as a stream: use spark.read, not spark.readStream")
