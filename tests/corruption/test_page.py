"""The documentation's table is what the tools answer now."""

from __future__ import annotations

import pytest

from corruption.table import PAGE, renewed


@pytest.mark.slow
def test_table_is_current() -> None:
    """``python -m corruption.table`` in the folder ``tests`` renews it."""
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page) == page
