"""Arguments of a scan in one mapping, for tests that vary them: the fields of its two objects go into these."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import kafkacomp as kc

_OBJECTS = {"options": kc.ScanOptions, "tiered": kc.Tiered}


def grouped(**arguments: Any) -> dict[str, Any]:
    """Arguments for ``kc.scan``, of which the fields of ``ScanOptions`` and ``Tiered`` are objects."""
    found = dict(arguments)
    for name, kind in _OBJECTS.items():
        own = {each.name: found.pop(each.name) for each in fields(kind) if each.name in found}
        if own:
            found[name] = kind(**own)
    return found
