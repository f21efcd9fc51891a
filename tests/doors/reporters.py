"""Doors that report on a partition: what is missing, and how much there is."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kafkacomp as kc
from corruption.tools import command
from doors.answers import Answer, Row, Source, row_of
from grouped import grouped
from kafkacomp import log
from kafkacomp._cli.batches import TIMESTAMP_NAMES
from missing_ranges import ranges_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["REPORTERS", "described", "dumped", "dumped_messages", "verified"]

_TYPES = {name: int(each) for each, name in TIMESTAMP_NAMES.items()}
_RANGE = re.compile(r"(?P<firstOffset>\d+)(?: to (?P<lastOffset>\d+))? \((?P<reason>\w+)\)")
_MISSING, _WARNING = "kafkacomp: missing: ", "kafkacomp: warning: "


def verified(source: Source) -> Answer:
    """``kafkacomp verify --json``."""
    status, out, err = command("verify", source.path, "--json", "--threads", "1", *source.arguments)
    if not out:
        return Answer(error=kc.KafkaCompError(err), counts={"status": status})
    found = json.loads(out)
    return Answer(missing=ranges_of(found["missing"]), counts={"status": status, **found})


def verified_log_dir(source: Source) -> Answer:
    """``LogDir.verify``."""
    return Answer(missing=ranges_of(kc.LogDir(source.path, **grouped(**source.known)).verify().missing))


def verified_member(source: Source) -> Answer:
    """``LogPartition.verify``, of a partition of a directory."""
    (partition,) = kc.LogDir(source.path, **grouped(**source.known)).values()
    return Answer(missing=ranges_of(partition.verify().missing))


def verified_partition(source: Source) -> Answer:
    """``kafkacomp.log.verify_partition``."""
    found = kc.LogDir(source.path, **grouped(**source.known)) if source.known else source.path
    return Answer(missing=ranges_of(log.verify_partition(found).missing))


def described(source: Source, *options: str) -> Answer:
    """``kafkacomp info --json``; the counts are those of the partition."""
    status, out, err = command("info", source.path, "--json", *source.arguments, *options)
    if not out:
        return Answer(error=kc.KafkaCompError(err), counts={"status": status})
    ((partition,),) = (topic["partitions"] for topic in json.loads(out)["topics"])
    return Answer(missing=ranges_of(partition["missing"]), counts={"status": status, **partition})


#: Doors that name what is missing: the same ranges with the same reasons as a scan that leaves out what is corrupt.
REPORTERS: dict[str, Callable[[Source], Answer]] = {
    "verify": verified,
    "LogDir.verify": verified_log_dir,
    "LogPartition.verify": verified_member,
    "verify_partition": verified_partition,
    "info --deep": lambda source: described(source, "--deep"),
}


def dumped(source: Source) -> Answer:
    """``kafkacomp dump --deep --json`` of all files.

    The rows are the records of batches with the right checksum in the order of offsets, each once. The counts are
    ``batches``, those with offsets that no batch before them has, ``places``, the file and the byte of each row's
    batch, and ``complaints`` about corrupt segments.
    """
    keys = [each for each in source.arguments if each.startswith("--encryption-key")]
    _, out, err = command("dump", source.path, "--deep", "--json", *keys)
    places: dict[Row, set[tuple[str, int]]] = {}
    offsets: set[int] = set()
    batches, is_shown, place = 0, False, ("", 0)
    for row in map(json.loads, out.splitlines()):
        if not row["file"].endswith(".log"):  # a snapshot of the metadata log has batches, too
            continue
        if row["type"] == "batch":
            own = _offsets_of(row)
            batches += row["isvalid"] and not offsets.issuperset(own)
            offsets |= own if row["isvalid"] else set()
            is_shown = row["isvalid"] and not row.get("isControl")
            place = Path(row["file"]).name, row["position"]
        elif row["type"] == "record" and is_shown:
            kind = _TYPES[row["timestampType"]]
            shown = row_of(row["offset"], kind, _bytes(row, "key"), _bytes(row, "payload"))
            places.setdefault(shown, set()).add(place)
    lines = err.splitlines()
    named = [match for line in lines if line.startswith(_MISSING) for match in _RANGE.finditer(line)]
    complaints = [line for line in lines if not line.startswith((_MISSING, _WARNING)) and "index: " not in line]
    return Answer(
        sorted(places),
        ranges_of([_numbers(each) for each in named]),
        counts={"batches": batches, "places": places, "complaints": complaints},
    )


def _offsets_of(batch: dict[str, Any]) -> set[int]:
    """The offsets of a batch as far as its header has them."""
    if batch["magic"] < 2:
        return {batch["offset"]}
    return {batch["lastOffset"], *range(batch["baseOffset"], min(batch["lastOffset"], batch["baseOffset"] + 10_000))}


def dumped_messages(source: Source) -> list[Row]:
    """The messages of ``kafkacomp dump --deep --json`` of a log of Kafka 0.7."""
    rows = map(json.loads, command("dump", source.path, "--deep", "--json")[1].splitlines())
    return [row_of(row["offset"], -1, None, _bytes(row, "payload")) for row in rows if row["type"] == "message"]


def _bytes(row: dict[str, Any], name: str) -> bytes | None:
    if f"{name}Base64" in row:
        return base64.b64decode(row[f"{name}Base64"])
    text: str | None = row[name]
    return None if text is None else text.encode()


def _numbers(found: re.Match[str]) -> dict[str, Any]:
    first = int(found["firstOffset"])
    return {"firstOffset": first, "lastOffset": int(found["lastOffset"] or first), "reason": found["reason"]}
