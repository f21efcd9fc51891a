"""Every option of the source and the sink, with values that no option has: refused by an error, or taken."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from typing import TYPE_CHECKING

import pytest

from kafkacomp.spark import _options, _write_options
from test_extreme_options import WORDS

if TYPE_CHECKING:
    from types import ModuleType

JSON = (
    "{}",
    "[]",
    "null",
    '{"t":{"0":-9223372036854775809}}',
    '{"t":{"99999999999":1}}',
    '{"t":{"0":1e999}}',
    '{"":[]}',
    "[" * 100_000,
    '{"a":' * 100_000,
    "\ud800",
)


@pytest.mark.parametrize("module", [_options, _write_options], ids=["read", "write"])
@pytest.mark.parametrize("streaming", [False, True])
def test_every_option(module: ModuleType, streaming: bool) -> None:
    for option, word in itertools.product(module.OPTIONS, (*WORDS, *JSON)):
        with contextlib.suppress(ValueError, TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of a pattern
            module.parse({"path": "/logs", "topic": "t", option: word}, streaming=streaming)
