"""The command ``kafkacomp``; also ``python -m kafkacomp``.

Exit status: 0 success, 1 corrupt or missing data found, 2 wrong usage, 3 any other failure (a full disk, no
permission), 130 interrupted (SIGINT), 141 broken pipe (SIGPIPE), 143 terminated (SIGTERM). Results are written to
standard output, everything else to standard error. Only this package imports click and rich, which the extra ``cli``
installs.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return the exit status."""
    try:
        from kafkacomp._cli.command import run  # noqa: PLC0415 - needs the extra

        return run(arguments)
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.stderr.write(f"kafkacomp: the command needs {error.name}: pip install 'kafkacomp[cli]'\n")
        return 2
    except KeyboardInterrupt:  # before the command began, or after it had ended
        return 130
