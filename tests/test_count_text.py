"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from kafkacomp._text import count_text


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "error", "0 errors"),
        (1, "segment", "1 segment"),
        (1234, "byte", "1,234 bytes"),
        (1, "batch|es", "1 batch"),
        (2, "batch|es", "2 batches"),
    ],
)
def test_a_noun_agrees_with_its_number(number: int, noun: str, text: str) -> None:
    assert count_text(number, noun) == text
