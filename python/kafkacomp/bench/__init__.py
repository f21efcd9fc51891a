"""``python -m kafkacomp.bench``: codecs, levels, batch sizes and threads measured on the user's own data.

What is measured and how is in docs/bench.md. The modules, in the order in which a run goes through them:

- ``command``: options, progress, exit status
- ``spec``: the values of ``--codecs``, ``--batch-bytes`` and ``--threads``
- ``workload``: files, segments and the shipped sample as blocks of bytes and records
- ``peers``: other libraries that do the same work; their results are compared with ours before they are timed
- ``stages``, ``timing``, ``runner``: one pass, its duration, the rounds of a run
- ``report``, ``table``, ``plot``, ``environment``: the output, and the machine and versions of the run
- ``presets``: published tables with the measured figure next to the published one

The extra ``bench`` installs click, rich and the libraries that draw the chart.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return the exit status: as of ``kafkacomp``; a wrong result of a peer is 1."""
    try:
        from kafkacomp.bench.command import run  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"click", "rich"}:
            raise
        sys.stderr.write(f"kafkacomp.bench: the command needs {package}: pip install 'kafkacomp[bench]'\n")
        return 2
    return run(arguments)
