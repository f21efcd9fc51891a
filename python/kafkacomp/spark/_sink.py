"""``df.write`` and ``df.writeStream``: not there, what Spark computed is written without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

__all__ = ["stream_writer", "writer"]


def writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG001 - a writer's
    """Say so."""
    raise ValueError("kafkacomp does not write from Spark: kafkacomp.write takes df.toArrow()")


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG001 - as above
    """Say so."""
    raise ValueError("kafkacomp does not write from Spark, streams neither")
