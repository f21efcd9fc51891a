"""Every test of this folder that takes `codec` runs with each of the four."""

from __future__ import annotations

import pytest

from .codecs import CODECS, Codec


@pytest.fixture(params=CODECS)
def codec(request: pytest.FixtureRequest) -> Codec:
    """A codec."""
    return CODECS[request.param]
