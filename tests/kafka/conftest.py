"""Fixtures of the tests against a real broker."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))

from livekafka import live


@pytest.fixture(scope="session")
def live_log(request: pytest.FixtureRequest) -> Iterator[live.LiveLog]:
    """A broker whose topics are filled and were read by a consumer; its folder is kept, and named, if a test fails."""
    folder = Path(tempfile.mkdtemp(prefix="kafkacomp-live-"))
    failed_before = request.session.testsfailed
    kept = True
    try:
        with live.LiveLog(folder) as log:
            yield log
        kept = request.session.testsfailed > failed_before
    finally:
        if kept:
            sys.stderr.write(f"\nthe broker's folder is kept: {folder}\n")
        else:
            shutil.rmtree(folder)
