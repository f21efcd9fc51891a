"""The golden segments, stored again in other forms, are read to the same records."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import pytest

from .expect import label
from .reading import assert_same, scan_rows
from .tiered import TieredCase, cases
from .tiered_variants import Variant, stored_again, variants

if TYPE_CHECKING:
    from pathlib import Path

CASES = cases()
SEED = int(os.environ.get("KAFKACOMP_SEED", "0"))
#: Those that chance might leave out.
CHOSEN = (
    Variant(0, is_local=True),
    Variant(1, chunk_size=1000, level=3, key_bits=2048, width=4, prefix="a/b/", has_own_keys=True),
    Variant(2, chunk_size=512, is_variable=True, width=3, prefix="p-"),
    Variant(3, chunk_size=2**31 - 1, level=1, prefix="t-AAAAAAAAAAAAAAAAAAAAAA/"),
    Variant(4, chunk_size=97, key_bits=3072, prefix="0/"),
)


def drawn() -> list[Any]:
    """Each partition in some forms; of the full set a few by default, and many in the slow tests."""
    found = []
    for number, case in enumerate(CASES):
        is_full = label(case.cluster) == "full"
        some = [CHOSEN[number % len(CHOSEN)], *variants(SEED + 100 * number, 8)]
        for place, variant in enumerate(some):
            marks = [pytest.mark.slow] if is_full or place > 1 else []
            found.append(pytest.param(case, variant, id=f"{case}-{variant}", marks=marks))
    return found


@pytest.mark.parametrize(("case", "variant"), drawn())
def test_what_the_consumer_read(
    case: TieredCase, variant: Variant, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "kafkacomp")
    root, known = stored_again(case, variant, tmp_path)
    for isolation_level in ("read_uncommitted", "read_committed"):
        found = scan_rows(root, isolation_level=isolation_level, **known)
        assert_same(found, case.expected(isolation_level), root)
    expected = case.expected()
    start, end = expected[len(expected) // 3].offset, expected[len(expected) // 2].offset
    found = scan_rows(root, start_offset=start, end_offset=end, **known)
    assert_same(found, [each for each in expected if start <= each.offset < end], root)
