"""Committed reads of tiered storage: the indexes show the transactions, so that each object is fetched once."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from fsspec.implementations.local import LocalFileSystem

import kafkacomp as kc
from golden.reading import assert_same, scan_rows
from golden.tiered import TieredCase, cases
from grouped import grouped
from kafkacomp.tiered import resolve as resolving

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

CASES = cases()
WITH_TRANSACTIONS = [case for case in CASES if "txn" in case.name]
ONE_CASE = pytest.mark.parametrize("case", CASES, ids=str)
#: Those whose remote segments are not cut by the leader's epochs.
OF_ONE_LINEAGE = [case for case in WITH_TRANSACTIONS if "unclean" not in case.name]
WITH_MANIFESTS = [case for case in OF_ONE_LINEAGE if case.name.startswith("gold-a")]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings about what is not known are expected here."""
    caplog.set_level(logging.ERROR, "kafkacomp")


class Counted(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A file system that counts what is fetched of each object."""

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.fetched: Counter[str] = Counter()

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """The bytes of an object, counted by the suffix of its name."""
        content: bytes = super().cat_file(path, start=start, end=end, **options)
        self.fetched[path.rpartition(".")[2]] += len(content)
        return content


def fetched(case: TieredCase, **options: Any) -> Counter[str]:
    filesystem = Counted()
    for _ in kc.scan(str(case.folder), columns=["offset"], **grouped(store=filesystem, **options)):
        pass
    return filesystem.fetched


@pytest.mark.parametrize("case", WITH_MANIFESTS, ids=str)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("threads", [1, 3])
def test_each_object_is_fetched_once(case: TieredCase, on_error: str, threads: int) -> None:
    """As for an uncommitted read, and the indexes: of ``gold-a-plain-txn-0`` 90,971 bytes of segments, once."""
    options = {"on_error": on_error, "threads": threads} | case.known
    uncommitted = fetched(case, **options)
    committed = fetched(case, isolation_level="read_committed", **options)
    stored = sum(path.stat().st_size for path in case.folder.glob("*.log"))
    assert committed["log"] == uncommitted["log"] == stored
    more = committed.total() - uncommitted.total()
    assert 0 < more < 0.1 * committed["log"]


@pytest.mark.parametrize("case", WITH_MANIFESTS, ids=str)
def test_a_bucket_alone_with_manifests(case: TieredCase) -> None:
    """Manifests show where segments end and which of them have no index."""
    log = fetched(case, isolation_level="read_committed", encryption_keys=case.keys)["log"]
    assert log == sum(path.stat().st_size for path in case.folder.glob("*.log"))


@pytest.mark.parametrize(
    ("case", "known"),
    [
        pytest.param(case, known, id=f"{known}-{case}")
        for case in CASES
        for known in ("everything", "remote_log_metadata", "nothing")
        if known == "everything" or "unclean" not in case.name  # whose lineage nothing else shows: an error
    ],
)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_indexes_show_what_the_batches_show(
    case: TieredCase, known: str, on_error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a transaction is open at the end of the remote segments, whose marker is in a local one."""
    options = {
        name: value for name, value in case.known.items() if known == "everything" or name in {known, "encryption_keys"}
    }

    def rows() -> list[Any]:
        return scan_rows(case.folder, isolation_level="read_committed", on_error=on_error, **options)

    by_indexes = rows()
    monkeypatch.setattr(resolving, "_follow_one_another", lambda _: False)
    assert_same(by_indexes, rows(), case.folder)


def copied(case: TieredCase, tmp_path: Path) -> Path:
    target = tmp_path / case.folder.relative_to(case.storage)
    shutil.copytree(case.folder, target)
    return target


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink()


@pytest.mark.parametrize("case", [case for case in OF_ONE_LINEAGE if not case.name.startswith("gold-a")], ids=str)
@pytest.mark.parametrize("change", ["no index", "no snapshot", "truncated index", "an index of zeros", "noise"])
def test_indexes_that_show_nothing(case: TieredCase, change: str, tmp_path: Path) -> None:
    """The batches are read in their place."""
    folder = copied(case, tmp_path)
    indexes = sorted(folder.glob("*.txnindex"))
    assert indexes
    if change == "no index":
        remove(indexes)
    elif change == "no snapshot":
        remove(folder.glob("*.snapshot"))
    else:
        for path in indexes:
            content = path.read_bytes()
            altered = {"truncated index": content[:-1], "noise": b"\0\0" + b"\xfe" * 32}
            path.write_bytes(altered.get(change, bytes(len(content))))
    found = scan_rows(folder, isolation_level="read_committed", **case.known)
    assert_same(found, case.expected("read_committed"), folder)


@pytest.mark.parametrize("case", [case for case in WITH_MANIFESTS if not case.keys], ids=str)
@pytest.mark.parametrize("change", ["exchanged", "truncated", "zeros", "noise"])
@pytest.mark.parametrize("known", [True, False])
def test_objects_of_indexes_that_are_others(case: TieredCase, change: str, known: bool, tmp_path: Path) -> None:
    """Those of each other segment in turn: what they say of other offsets does not count."""
    options = case.known if known else {}
    wanted = scan_rows(case.folder, isolation_level="read_committed", **options)
    if known:
        assert_same(wanted, case.expected("read_committed"), case.folder)
    count = len(list(case.folder.glob("*.indexes")))
    for at in range(count):
        folder = copied(case, tmp_path / str(at))
        paths = sorted(folder.glob("*.indexes"))
        content = paths[at].read_bytes()
        other = paths[(at + 1) % count].read_bytes()
        altered = {"exchanged": other, "truncated": content[:-1], "zeros": bytes(len(content))}
        paths[at].write_bytes(altered.get(change, b"\xfe" * len(content)))
        assert_same(scan_rows(folder, isolation_level="read_committed", **options), wanted, folder)


def test_a_plain_bucket_without_indexes(tmp_path: Path) -> None:
    """Where nothing shows that no transaction was aborted, batches are read twice, and the answer is the same."""
    case = next(case for case in OF_ONE_LINEAGE if case.name == "gold-txn-0")
    folder = copied(case, tmp_path)
    whole = scan_rows(folder, isolation_level="read_committed")
    remove(path for path in folder.iterdir() if path.suffix != ".log")
    assert_same(scan_rows(folder, isolation_level="read_committed"), whole, folder)
    aborted = {each.offset for each in case.expected()} - {each.offset for each in case.expected("read_committed")}
    assert aborted
    assert not aborted & {row.offset for row in whole}
