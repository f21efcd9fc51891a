"""Segments in tiered storage through every door: with all that is known of them, and the storage by itself."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from doors.answers import Source
from doors.compare import differences, of_readers
from doors.readers import READERS, scanned
from golden.expect import label
from golden.tiered import TieredCase, cases

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings about what is not known are expected here."""
    caplog.set_level(logging.ERROR, "kafkacomp")


#: Those that are not slow, of the small set: Kafka's own storage, several leaders, and encrypted chunks.
FEW = {"local", "three", "aiven-both"}
ONE_CASE = pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            each,
            id=str(each),
            marks=[] if label(each.cluster) == "small" and each.cluster.name in FEW else [pytest.mark.slow],
        )
        for each in cases()
    ],
)


@ONE_CASE
def test_with_everything_that_is_known(case: TieredCase, tmp_path: Path) -> None:
    """Streams, ``dump`` and what makes copies do not take the metadata of remote segments."""
    source = Source(case.folder, tmp_path, {name: each for name, each in case.known.items() if each})
    lenient = READERS["scan, skip"](source)
    assert (lenient.missing, [row[0] for row in lenient.rows or []]) == ([], [each.offset for each in case.expected()])
    assert of_readers(source, lenient, scanned(source)) == []


@ONE_CASE
def test_the_storage_by_itself(case: TieredCase, tmp_path: Path) -> None:
    source = Source(case.folder, tmp_path, {"encryption_keys": case.keys} if case.keys else {})
    assert differences(source) == []
