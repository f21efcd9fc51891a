"""The offset map of a migrated log: byte positions of Kafka 0.7, and the offsets that replace them."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkacomp._arguments import path_text
from kafkacomp._extras import pa, parquet
from kafkacomp._storage.new_file import exists_error, new_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from kafkacomp.message_set import MappedPosition

    #: Called with a topic, a partition, and positions in it.
    Take: TypeAlias = Callable[[str | None, int | None, list[MappedPosition]], object]

#: Topic and partition, null if the folder is not named by them; a position that a consumer may have committed; and the
#: offset of the first message from there on, to commit instead.
COLUMNS = ("topic", "partition", "position", "offset")


@contextmanager
def offset_map(path: str | os.PathLike[str] | None) -> Iterator[Take | None]:
    """Open a ``.parquet`` or ``.csv`` file for mapped positions, which appears if the block ends without an error.

    Raises:
        FileExistsError: the file exists.
        ValueError: the path has another suffix.
    """
    if path is None:
        yield None
        return
    target = Path(path_text("offset_map", path))
    kinds = {".parquet": _parquet, ".csv": _csv}
    kind = kinds.get(target.suffix)
    if kind is None:
        raise ValueError(f"{target}: the suffix must be {' or '.join(kinds)}")
    if target.exists():
        raise exists_error(target)
    with new_file(target) as hidden, kind(hidden) as take:
        yield take


@contextmanager
def _csv(path: Path) -> Iterator[Take]:
    with path.open("x", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        yield lambda topic, partition, mapped: out.writerows((topic, partition, *each) for each in mapped)


@contextmanager
def _parquet(path: Path) -> Iterator[Take]:
    schema = pa.schema(
        [("topic", pa.string()), ("partition", pa.int32()), ("position", pa.int64()), ("offset", pa.int64())]
    )
    with parquet.ParquetWriter(path, schema, compression="zstd") as out:

        def take(topic: str | None, partition: int | None, mapped: list[MappedPosition]) -> None:
            if mapped:
                columns: list[Any] = [[topic] * len(mapped), [partition] * len(mapped), *zip(*mapped, strict=True)]
                out.write_batch(pa.record_batch(dict(zip(COLUMNS, columns, strict=True)), schema=schema))

        yield take
