"""`import kafkacomp` takes little: it imports neither extras nor heavy modules of the standard library."""

from __future__ import annotations

import json
import subprocess
import sys

#: What takes milliseconds to import, or is an extra.
HEAVY = {
    "asyncio",
    "click",
    "concurrent",
    "datetime",
    "email",
    "fsspec",
    "http",
    "importlib.metadata",
    "logging",
    "pathlib",
    "multiprocessing",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "rich",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "tomllib",
    "typing_extensions",
    "unittest",
    "urllib.request",
    "xml",
    "zipfile",
}
#: Modules that the import may load beyond those that Python itself starts with; it takes some 20 ms.
MOST_MODULES = 50

PROGRAM = """
import json, sys
before = set(sys.modules)
import kafkacomp
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_the_import_loads_little() -> None:
    """Times differ from machine to machine; what is imported does not."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    heavy = [name for name in loaded if name in HEAVY or name.partition(".")[0] in HEAVY]
    assert heavy == []
    assert [
        name for name in loaded if name.startswith(("kafkacomp.arrow", "kafkacomp._storage", "kafkacomp.log"))
    ] == []
    # Each codec's module is imported at its first use, too.
    assert not {"kafkacomp.gzip", "kafkacomp.lz4", "kafkacomp.snappy", "kafkacomp.zstd", "threading"} & set(loaded)
    assert len(loaded) <= MOST_MODULES, loaded


def test_what_is_imported_later_is_the_same_object() -> None:
    program = (
        "import kafkacomp as kc; from kafkacomp.arrow import scan; assert kc.scan is scan is kc.scan; kc.typing.Source"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
