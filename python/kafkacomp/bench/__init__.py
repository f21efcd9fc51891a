"""``python -m kafkacomp.bench``: codecs, levels, batch sizes and threads measured on the user's own data.

What is measured and how is in docs/bench.md. The modules, in the order in which a run goes through them:

- ``command``: options, progress, exit status
- ``spec``: what ``--codecs``, ``--batch-bytes`` and ``--threads`` say
- ``workload``: files, segments and the shipped sample as blocks of bytes and records
- ``peers``: other libraries that do the same work, each checked to give the same result
- ``stages``, ``timing``, ``runner``: one pass, its clock, the rounds of a run
- ``report``, ``table``, ``plot``, ``environment``: what comes out, and where it was made
- ``presets``: published tables with the measured figure beside the published one

click and rich come with the extra ``bench``, as does what draws the picture.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status: 0 fine, 1 a wrong result or corrupt input, 2 wrong use."""
    try:
        from kafkacomp.bench.command import run  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"click", "rich"}:
            raise
        sys.stderr.write(f"kafkacomp.bench: the command needs {package}: pip install 'kafkacomp[bench]'\n")
        return 2
    return run(arguments)
