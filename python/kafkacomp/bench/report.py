"""The machine-readable output: JSON, described by schema.json."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkacomp.bench.preset import Compared
    from kafkacomp.bench.runner import Result, Run
    from kafkacomp.bench.workload import Source

#: Increases if readers of the JSON have to change.
FORMAT: Final = 1


@dataclass
class Report:
    """The results of a run, and its environment."""

    environment: Mapping[str, object]
    inputs: Sequence[Source]
    run: Run
    preset: Compared | None = None

    def as_dict(self) -> dict[str, Any]:
        """Convert to the JSON of schema.json."""
        inputs = [
            {"name": source.name, "bytes": source.size, "bytes_left_out": source.left_out, "kind": _kind(source)}
            for source in self.inputs
        ]
        made: dict[str, Any] = {
            "format": FORMAT,
            **self.environment,
            "inputs": inputs,
            "results": [_row(result) for result in self.run.results],
            "left_out": dict(self.run.left_out),
            "wrong_results": dict(self.run.wrong),
        }
        if self.preset is not None:
            made["preset"] = asdict(self.preset)
        return made

    def heading(self) -> list[str]:
        """Format the environment in a few lines of text."""
        machine: Any = self.environment["machine"]
        versions: Any = self.environment["versions"]
        memory = "" if machine["memory_bytes"] is None else f", {machine['memory_bytes'] / 2**30:.0f} GiB"
        load = "" if machine["load_average"] is None else f", load {machine['load_average']}"
        return [
            f"{self.environment['command']}",
            f"{self.environment['date']}  {machine['cpu']}, {machine['cores']} cores{memory}{load}",
            f"{machine['system']}, {machine['python']}; "
            + ", ".join(f"{name} {version}" for name, version in versions.items() if version),
        ]


def _kind(source: Source) -> str:
    if source.stored is None:
        return "file"
    return "segment" if source.real_batches else "lines"


def _row(result: Result) -> dict[str, Any]:
    workload = result.workload
    return {
        "input": workload.name,
        "batch_bytes": workload.batch_bytes,
        "compression_type": str(result.codec.type),
        "level": result.codec.level,
        "threads": result.threads,
        "stage": result.stage,
        "by": result.peer,
        "bytes": workload.size,
        "compressed_bytes": result.compressed,
        "ratio": result.ratio,
        "batches": len(workload.blocks),
        "records": workload.records,
        "seconds": result.samples.as_dict(),
        "cpu_seconds": result.samples.cpu,
        "megabytes_per_second": result.megabytes_per_second,
        "microseconds_per_batch": result.microseconds_per_batch,
        "nanoseconds_per_record": result.nanoseconds_per_record,
        "times_kafkacomp": result.against_ours,
    }
