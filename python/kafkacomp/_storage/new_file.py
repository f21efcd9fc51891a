"""A local file that appears complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["new_file"]


@contextmanager
def new_file(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a hidden name next to ``target`` for the block to write to; at its end the file is renamed to ``target``.

    If the block raises, the hidden file is removed. Without ``replace`` an existing target is an error, also one that
    appeared while the block ran.

    Raises:
        FileExistsError: ``target`` exists.
    """
    # Not made from the target's name, which may have as many bytes as a name can.
    hidden = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        yield hidden
        if replace:
            hidden.replace(target)
            return
        try:
            # A link fails if the target exists, where a rename would replace it.
            os.link(hidden, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links: between the test and the rename the target may appear
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
            hidden.replace(target)
    finally:
        hidden.unlink(missing_ok=True)
