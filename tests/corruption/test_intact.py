"""The logs that corruption is injected into are intact, by every tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from corruption.inject import intact
from corruption.logs import Log, all_logs
from corruption.tools import TOOLS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("log", all_logs(), ids=str)
def test_intact(log: Log, tmp_path: Path) -> None:
    """Every record, no error, nothing blamed; gaps only where compaction left them."""
    folder = intact(log).write(tmp_path)
    wanted = [record for batch in log.batches for record in batch.records]
    for tool, ask in TOOLS.items():
        answer = ask(folder)
        assert answer.error is None, tool
        assert answer.rows is None or answer.rows == wanted, tool
        assert not answer.faults, tool
        assert answer.status in {None, 0}, tool
        assert not answer.named & {offset for offset, _ in wanted}, tool
        if not log.is_compacted:
            assert not answer.missing, tool
            assert not answer.warnings, tool
