"""The command ``kafkacomp``; also ``python -m kafkacomp``.

Exit status: 0 fine, 1 corrupt or missing data found, 2 wrong use, 3 any other failure (a full disk, no permission), 130
interrupted, 141 the reader of a pipe went away, 143 terminated. Results go to standard output, everything else to
standard error. click and rich come with the extra ``cli`` and are imported only here.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status."""
    try:
        from kafkacomp._cli.command import run  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.stderr.write(f"kafkacomp: the command needs {error.name}: pip install 'kafkacomp[cli]'\n")
        return 2
    return run(arguments)
