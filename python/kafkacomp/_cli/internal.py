"""What the commands on internal topics have in common, and ``kafkacomp topics`` and ``kafkacomp transactions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkacomp import LogDir, internal
from kafkacomp._arguments import checked_threads
from kafkacomp._cli.common import ALLOW_MISSING, bound, complain, say, say_json, together
from kafkacomp._cli.tables import Column, show_table, width_of_output
from kafkacomp._exit_status import FINE
from kafkacomp._losses import unacknowledged
from kafkacomp._text import count_text, printable, time_text
from kafkacomp.log._describe import describe

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from kafkacomp._losses import Losses
    from kafkacomp.arrow import ScanReader
    from kafkacomp.log._info import OpenTransaction, PartitionInfo

_OFFSET = "offset:"
PATHS = click.argument("paths", nargs=-1, required=True)
JSON = click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
_TRANSACTIONS = (
    Column("transactional id", is_name=True), Column("state", is_name=True), Column("open since", 1),
    Column("producer", 2), Column("epoch", 3), Column("partitions", 1, is_name=True), Column("hanging", is_name=True),
)  # fmt: skip
_TOPICS = (
    Column("topic", is_name=True), Column("id", 1, is_name=True), Column("partitions"), Column("replication", 2),
    Column("configs", 3, is_name=True),
)  # fmt: skip


def _point(context: click.Context, option: click.Parameter, value: str | None) -> dict[str, int | dt.datetime | None]:
    """Parse a time, or ``offset:N``, as options of a table."""
    if value is None or not value.startswith(_OFFSET):
        return {"as_of": bound(context, option, value)}
    try:
        return {"as_of_offset": int(value.removeprefix(_OFFSET))}
    except ValueError:
        raise click.BadParameter(f"{value!r}: expected an offset such as offset:1200", param=option) from None


AS_OF = click.option(
    "--as-of", "point", callback=_point, metavar="TIME",
    help="Show the state at this time, in milliseconds or ISO 8601 with a time zone; or at offset:N of each partition. "
    "Default: after the last record.",
)  # fmt: skip
ON_ERROR = click.option(
    "--on-error", type=click.Choice(("raise", "skip")), default="raise", show_default=True,
    help="At corrupt batches: raise ends with an error; skip continues with the next intact batch.",
)  # fmt: skip
THREADS = click.option("--threads", type=click.IntRange(1, 1024), help="Decoding threads; default: one per core.")
#: The options of all commands on internal topics: those of :class:`Reading`.
internal_options = together(AS_OF, ON_ERROR, THREADS, ALLOW_MISSING, JSON)


class Reading:
    """Reads tables for a command, and reports what is missing at its end."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        point: dict[str, int | dt.datetime | None],
        on_error: str,
        threads: int | None,
        allow_missing: bool,
    ) -> None:
        """Read from these paths; the options are those of :data:`internal_options`."""
        self._paths = list(paths)
        self._options: dict[str, Any] = {**point, "on_error": on_error, "threads": threads}
        self._allow_missing = allow_missing
        self._losses: list[Losses] = []

    def rows(self, table: Callable[..., ScanReader], **more: object) -> list[dict[str, Any]]:
        """The rows of a table."""
        with table(self._paths, **self._options, **more) as reader:
            rows: list[dict[str, Any]] = reader.read_all().to_pylist()
            self._losses.append(unacknowledged(reader.report))
        return rows

    def status(self) -> int:
        """Report what is missing, and return the exit status."""
        for line in dict.fromkeys(line for each in self._losses for line in each.lines()):
            complain(line)
        return max((each.status(allow_missing=self._allow_missing) for each in self._losses), default=FINE)


def milliseconds_of(row: dict[str, Any]) -> dict[str, Any]:
    """A row for JSON: times in milliseconds since the epoch, bytes in hexadecimal."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:  # noqa: ANN401 - cells
    if isinstance(value, bytes):
        return value.hex()
    return round(value.timestamp() * 1000) if hasattr(value, "timestamp") else value


def moment_text(moment: dt.datetime | None) -> str:
    """A time of a row."""
    return "" if moment is None else time_text(round(moment.timestamp() * 1000), to_the_second=True)


def number_text(number: int | None) -> str:
    """A number of a row."""
    return "" if number is None else f"{number:,}"


def _digits(number: int | None) -> str:
    """A number that is a name: without separators."""
    return "" if number is None else str(number)


@click.command()
@PATHS
@click.option("--show-secrets", is_flag=True, help="Show the values of secret configs.")
@internal_options
def topics(paths: tuple[str, ...], show_secrets: bool, as_json: bool, **options: Any) -> int:  # noqa: ANN401
    """Show the topics of a KRaft cluster: names, ids, partitions and configs.

    PATHS are log directories with __cluster_metadata-0, or this folder. The newest snapshot and the log after its end
    are read. With --json, each topic has its partitions with leaders, replicas and ISRs.
    """
    reading = Reading(paths, **options)
    found = reading.rows(internal.cluster_metadata, show_secrets=show_secrets)
    if as_json:
        partitions: dict[str, list[dict[str, Any]]] = {row["topic"]: [] for row in found}
        for row in reading.rows(internal.cluster_metadata, view="partitions"):
            partitions[row["topic"]].append({name: row[name] for name in row if name not in {"topic", "topicId"}})
        say_json({"topics": [row | {"partitions": partitions[row["topic"]]} for row in found]})
        return reading.status()
    cells = [
        [
            printable(row["topic"]), row["topicId"], number_text(row["partitions"]),
            number_text(row["replicationFactor"]), printable(", ".join(row["configs"])),
        ]
        for row in found
    ]  # fmt: skip
    if cells:
        show_table(_TOPICS, cells, width=width_of_output())
    count = sum(row["partitions"] for row in found)
    say(f"{count_text(len(found), 'topic')}, {count_text(count, 'partition')}")
    return reading.status()


def _reason(txn: OpenTransaction, place: str, by_producer: dict[int, dict[str, Any]]) -> str:
    """Why a transaction that is open in a partition's log is hanging; empty if its coordinator can still end it."""
    known = by_producer.get(txn.producer_id)
    if known is None:
        return "no transactional id has this producer"
    if known["status"] == "unknown":
        return ""
    if known["producerEpoch"] > txn.producer_epoch:
        return f"the coordinator is at epoch {known['producerEpoch']}"
    if not known["isOpen"]:
        return f"the coordinator has {known['state']}"
    return "" if place in known["partitions"] else "the coordinator does not list this partition"


def hanging(found: Sequence[PartitionInfo], known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The transactions that are open in the logs of partitions, with the reason why one is hanging."""
    by_producer = {row["producerId"]: row for row in known}
    return [
        {
            "topic": each.topic,
            "partition": each.partition,
            "producerId": txn.producer_id,
            "producerEpoch": txn.producer_epoch,
            "firstOffset": txn.first_offset,
            "firstTimestamp": txn.first_timestamp,
            "transactionalId": by_producer.get(txn.producer_id, {}).get("transactionalId"),
            "hanging": _reason(txn, f"{each.topic}-{each.partition}", by_producer) or None,
        }
        for each in found
        for txn in each.open_transactions
    ]


@click.command()
@PATHS
@click.option("--all", "show_all", is_flag=True, help="Also show transactional ids without an open transaction.")
@internal_options
def transactions(paths: tuple[str, ...], show_all: bool, as_json: bool, **options: Any) -> int:  # noqa: ANN401
    """Show open transactions, and those that hang.

    PATHS are log directories or folders of __transaction_state. A transaction is hanging if it is open in a partition's
    log in PATHS while its coordinator has no transactional id with this producer, has a later epoch, or has ended it:
    no marker will come, and consumers with read_committed wait at it. Headers of all partitions are read for this.
    """
    reading = Reading(paths, **options)
    known = reading.rows(internal.transactions)
    logs = [each for path in paths for each in LogDir(path)._listed().partitions]  # noqa: SLF001 - of this package
    in_logs = hanging(describe(logs, checked_threads(options["threads"])).partitions, known)
    if as_json:
        say_json({"transactions": [milliseconds_of(row) for row in known], "openInLogs": in_logs})
        return reading.status()
    reasons = {each["transactionalId"]: each["hanging"] for each in in_logs if each["hanging"]}
    cells = [
        [
            printable(row["transactionalId"]), row["state"] or row["status"],
            moment_text(row["startTimestamp"]) if row["isOpen"] else "", _digits(row["producerId"]),
            _digits(row["producerEpoch"]), printable(", ".join(row["partitions"] or ())),
            reasons.get(row["transactionalId"]) or "",
        ]
        for row in known
        if show_all or row["isOpen"] or row["status"] == "unknown"
    ]  # fmt: skip
    if cells:
        show_table(_TRANSACTIONS, cells, width=width_of_output())
    for each in in_logs:
        if each["hanging"]:
            since = time_text(each["firstTimestamp"])
            place = f"{printable(each['topic'])}-{each['partition']} from offset {each['firstOffset']}"
            say(f"hanging: {place}, producer {each['producerId']}, since {since}: {each['hanging']}")
    count = sum(bool(row["isOpen"]) for row in known)
    hangs = sum(each["hanging"] is not None for each in in_logs)
    say(f"{count_text(len(known), 'transactional id')}, {count} open, {hangs} hanging")
    return reading.status()
