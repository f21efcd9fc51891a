"""``kafkacomp validate``: show what a broker would do with record sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import click

from kafkacomp import broker, record
from kafkacomp._cli.common import MAX_OUTPUT_SIZE, say, say_json, waiting
from kafkacomp._click import Size
from kafkacomp._exit_status import CORRUPT, FINE
from kafkacomp._storage.filesystem import open_local
from kafkacomp._text import json_fields, printable
from kafkacomp._types import TimestampType
from kafkacomp.exceptions import KafkaCompError, RecordError

_TIMESTAMP_TYPES = {"CreateTime": TimestampType.CREATE_TIME, "LogAppendTime": TimestampType.LOG_APPEND_TIME}

#: The size of a record set is an int32.
_MOST_BYTES = (1 << 31) - 1

#: The most refused records that the text output shows; JSON has all of them.
SHOWN = 10


class Verdict(NamedTuple):
    """The result for one file."""

    file: Path
    #: The bytes that the broker stores; None if it refuses the file.
    stored: bytes | None
    #: Kafka's error code, 0 if the file is accepted, None where the connection is closed.
    error_code: int | None
    error: str | None
    message: str | None
    record_errors: tuple[RecordError, ...]
    batches: list[dict[str, Any]]
    #: How the input was changed: "as sent", "header changed" or "rebuilt"; None if the file is refused.
    how: str | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": str(self.file),
            "accepted": self.stored is not None,
            "errorCode": self.error_code,
            "error": self.error,
            "message": self.message,
            "recordErrors": [{"batchIndex": index, "message": message} for index, message in self.record_errors],
            "stored": None if self.stored is None else self.how,
            "storedBytes": None if self.stored is None else len(self.stored),
            "batches": self.batches,
        }

    def lines(self) -> list[str]:
        """For people."""
        if self.stored is None:
            code = "the connection is closed" if self.error_code is None else f"error code {self.error_code}"
            shown = [f"  record {index}: {message}" for index, message in self.record_errors[:SHOWN]]
            more = len(self.record_errors) - len(shown)
            return [
                f"{self.file}: refused, {code} ({self.error}): {self.message}",
                *shown,
                *([f"  and {more} more records"] if more else []),
            ]
        return [
            f"{self.file}: accepted, {self.how}: {len(self.stored):,} bytes",
            *(
                f"  magic {b['magic']} {b['compressionType']} offsets {b['baseOffset']} to {b['lastOffset']}, "
                f"{b['sizeInBytes']:,} bytes"
                for b in self.batches[:SHOWN]
            ),
            *([f"  and {len(self.batches) - SHOWN} more batches"] if len(self.batches) > SHOWN else []),
        ]


def verdict_on(file: Path, profile: broker.BrokerProfile, settings: dict[str, Any]) -> Verdict:
    """Append a file to a broker of this profile."""
    sent = _sent(file)
    try:
        stored = profile.append(sent, **settings)
    except KafkaCompError as error:
        refused = getattr(error, "record_errors", ())
        return Verdict(file, None, error.error_code, type(error).__name__, str(error), refused, [], None)
    return Verdict(file, stored, 0, None, None, (), _batches(stored), _how(sent, stored))


def _sent(file: Path) -> bytes:
    """Read a file; ValueError if no request can have it."""
    with open_local(file) as opened:
        size = os.fstat(opened.fileno()).st_size
        if size > _MOST_BYTES:
            raise ValueError(f"{file}: the file has {size:,} bytes, and a record set has at most {_MOST_BYTES:,}")
        try:
            return opened.read()
        except MemoryError:
            raise MemoryError(f"{file}: out of memory: the file is read as a whole, {size:,} bytes") from None


def _how(sent: bytes, stored: bytes) -> str:
    if stored == sent:
        return "as sent"
    if not stored:
        return "nothing stored"
    kept = len(stored) <= len(sent) and all(
        stored[b.position + b.size_in_bytes - 1] == sent[b.position + b.size_in_bytes - 1]
        and _payload(stored, b) == _payload(sent, b)
        for b in record.read_batches(stored)
    )
    return "headers changed" if kept else "rebuilt"


def _payload(data: bytes, batch: record.RecordBatch) -> bytes:
    """A batch without the fields that a broker changes in place: offset, epoch, checksum, attributes, timestamps."""
    piece = data[batch.position : batch.position + batch.size_in_bytes]
    return piece[8:12] + (piece[43:] if batch.magic == 2 else piece[18 if batch.magic == 0 else 26 :])  # noqa: PLR2004


def _batches(stored: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    try:
        found.extend(
            {
                "magic": batch.magic,
                "compressionType": str(batch.compression_type),
                **json_fields(batch, "base_offset", "last_offset", "max_timestamp", "size_in_bytes"),
            }
            for batch in record.read_batches(stored)
        )
    except KafkaCompError as error:
        # Old brokers store some batches that readers refuse.
        found.append({"unreadable": str(error)})
    return found


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--profile", default="4.x", show_default=True,
              help=f"Version of the broker: {', '.join(broker.BrokerProfile.NAMES)}; 4.x means 4.4.")  # fmt: skip
@click.option("--compression-type", type=click.Choice([kind.value for kind in broker.BrokerCompressionType]),
              default="producer", show_default=True, help="compression.type of the topic.")  # fmt: skip
@click.option("--cleanup-policy", type=click.Choice(("delete", "compact", "compact,delete")), default="delete",
              show_default=True, help="cleanup.policy; a compacted topic refuses records without a key.")  # fmt: skip
@click.option(
    "--message-format-version",
    metavar="VERSION",
    help="message.format.version of the topic, for brokers 0.10.0 to 2.8.",
)
@click.option("--timestamp-type", type=click.Choice(("CreateTime", "LogAppendTime")), default="CreateTime",
              show_default=True, help="message.timestamp.type of the topic.")  # fmt: skip
@click.option("--timestamp-before-max-ms", type=click.IntRange(0, 2**63 - 1), default=2**63 - 1,
              help="message.timestamp.before.max.ms of the topic; before 3.6, "
                   "message.timestamp.difference.max.ms; default: no limit.")  # fmt: skip
@click.option("--timestamp-after-max-ms", type=click.IntRange(0, 2**63 - 1), default=2**63 - 1,
              help="message.timestamp.after.max.ms of the topic, from 3.6 on; default: no limit.")  # fmt: skip
@click.option("--max-message-bytes", "max_message_size", type=Size(0, 2**31 - 1), default=(1 << 20) + 12,
              show_default=True, help="max.message.bytes of the topic.")  # fmt: skip
@click.option("--max-decompressed-message-bytes", type=Size(1, 2**31 - 9), default=2**31 - 9,
              help="max.decompressed.message.bytes of the topic, from 4.4 on; default: no limit.")  # fmt: skip
@click.option(
    "--offset", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="The offset of the first record."
)
@click.option(
    "--now",
    type=click.IntRange(0, 2**63 - 1),
    help="The time of the append in milliseconds since the epoch; default: the current time.",
)
@click.option(
    "--produce-version",
    type=click.IntRange(0, 100),
    help="Version of the produce request; without it, checks that depend on the version are left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each file.")
@MAX_OUTPUT_SIZE
def validate(
    files: tuple[Path, ...], profile: str, cleanup_policy: str, timestamp_type: str, as_json: bool,
    **settings: Any,  # noqa: ANN401 - handed on to the profile
) -> int:  # fmt: skip
    """Show what a broker does with record sets.

    It stores a record set as it is, stores it with other header fields, rebuilds it, or refuses it with an error code.

    Each of FILES contains one record set as a producer sends it. The exit status is 1 if a file is refused.
    """
    chosen = broker.BrokerProfile(profile)
    settings["compacted"] = "compact" in cleanup_policy
    settings["timestamp_type"] = _TIMESTAMP_TYPES[timestamp_type]
    accepted = True
    for file in files:
        with waiting(f"validating {printable(str(file))}"):
            verdict = verdict_on(file, chosen, settings)
        accepted &= verdict.stored is not None
        if as_json:
            say_json({"profile": chosen.name, **verdict.as_dict()})
        else:
            for line in verdict.lines():
                say(line)
    return FINE if accepted else CORRUPT
