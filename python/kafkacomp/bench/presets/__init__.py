"""Published tables with the measured figures next to the published ones.

The figures and their sources are in the ``.toml`` files of this folder, one for each preset. There are three kinds of
table: ``corpus`` (ratio and speeds of whole files), ``levels`` (messages per second and size) and ``words``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from kafkacomp.bench.spec import parse_codecs, parse_sizes
from kafkacomp.bench.stages import BUILD, COMPRESS, DECOMPRESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkacomp.bench.runner import Result
    from kafkacomp.bench.spec import Codec

NAMES: Final = ("zstd-readme", "kip-390", "four-codecs")
CORPUS: Final = "corpus"

Cell = str | float | int | bool | None


@dataclass
class Compared:
    """A published table with measured columns."""

    name: str
    title: str
    source: str
    columns: list[str]
    rows: list[dict[str, Cell]]
    notes: list[str]


class Preset:
    """A published table, and the measurement that repeats it."""

    def __init__(self, name: str) -> None:
        text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
        self.name = name
        self.table: dict[str, Any] = tomllib.loads(text)

    @property
    def kind(self) -> str:
        """``corpus``, ``levels`` or ``words``."""
        return str(self.table["kind"])

    @property
    def codecs(self) -> list[Codec]:
        """The codecs for the runner; none for a corpus, which is measured separately."""
        if self.kind == CORPUS:
            return []
        return [codec for row in self.table["row"] for codec in parse_codecs(row["codec"])]

    @property
    def sizes(self) -> list[int | str | None]:
        """The batch sizes of the published measurement, or those of the source."""
        batch_bytes = self.table.get("batch_bytes")
        return [None] if batch_bytes is None else list(parse_sizes(str(batch_bytes)))

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages to measure."""
        return (COMPRESS, BUILD) if self.kind == "levels" else (COMPRESS, DECOMPRESS)

    def compared(self, rows: list[dict[str, Cell]], notes: list[str]) -> Compared:
        """Return the table with these rows, each of which has all columns."""
        return Compared(self.name, self.table["title"], self.table["source"], list(rows[0]), rows, notes)

    def compare(self, results: Sequence[Result]) -> Compared:
        """Put the measured figures next to the published ones; ``results`` are of one workload on one thread."""
        return _levels(self, results) if self.kind == "levels" else _words(self, results)


def _find(results: Sequence[Result], codec: Codec, stage: str) -> Result | None:
    return next(
        (each for each in results if each.codec == codec and each.stage == stage and each.peer == "kafkacomp"), None
    )


def _levels(preset: Preset, results: Sequence[Result]) -> Compared:
    rows, cells = preset.table["row"], list[dict[str, Cell]]()
    first = _find(results, parse_codecs(rows[0]["codec"])[0], BUILD)
    for row in rows:
        result = _find(results, parse_codecs(row["codec"])[0], BUILD)
        rate = size = to_none = None
        if result is not None and first is not None:
            rate = (result.workload.records or 0) / result.samples.median
            to_none = first.samples.median / result.samples.median
            size = result.compressed / first.compressed * rows[0]["gigabytes"]
        cells.append(
            {
                "codec": row["codec"],
                "messages/s published": row["messages"],
                "to none published": row["messages"] / rows[0]["messages"],
                "messages/s measured": rate,
                "to none measured": to_none,
                "GB published": row["gigabytes"],
                "GB measured": size,
                "note": row.get("note"),
            }
        )
    notes = ["measured: building batches on one thread; published: a Java producer and a broker"]
    if first is None:
        notes.append("the input has no records to build batches from")
    return preset.compared(cells, notes)


def _words(preset: Preset, results: Sequence[Result]) -> Compared:
    names: list[str] = preset.table["columns"]
    rows, made = preset.table["row"], list[dict[str, Cell]]()
    figures = {row["codec"]: _figures(results, parse_codecs(row["codec"])[0]) for row in rows}
    for row in rows:
        cells: dict[str, Cell] = {"codec": row["codec"]}
        for name in names:
            figure = figures[row["codec"]][name]
            every = [each[name] for each in figures.values()]
            holds: bool | None = None
            if figure is not None and None not in every:
                place = 1 + sum(1 for other in every if other is not None and other > figure)
                holds = place in preset.table["places"][row[name]]
            cells |= {name: row[name], f"{name} measured": figure, f"{name} holds": holds}
        made.append(cells)
    note = (
        "ratio: before by after; cpu: seconds for compressing and decompressing 1 GB; speed: compression, MB/s; "
        "bandwidth: bytes sent, in percent of those before compression; all at Kafka's default levels"
    )
    return preset.compared(made, [note])


def _figures(results: Sequence[Result], codec: Codec) -> dict[str, float | None]:
    there, back = (_find(results, codec, stage) for stage in (COMPRESS, DECOMPRESS))
    if there is None or back is None:
        return dict.fromkeys(("ratio", "cpu", "speed", "bandwidth"))
    cpus = (there.cpu_seconds_per_gigabyte, back.cpu_seconds_per_gigabyte)
    return {
        "ratio": there.ratio,
        "cpu": None if cpus[0] is None or cpus[1] is None else cpus[0] + cpus[1],
        "speed": there.megabytes_per_second,
        "bandwidth": 100 / there.ratio,
    }
