"""Write a local file so that it appears complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def exists_error(target: str | Path) -> FileExistsError:
    """The error about a target that exists, with what to do."""
    return FileExistsError(errno.EEXIST, "the target exists: choose another one, or remove it", str(target))


@contextmanager
def new_file(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """Provide a hidden path next to ``target`` to write to; after the block it is renamed to ``target``.

    If the block raises, the hidden file is removed. Without ``replace``, an existing target is an error, even if it was
    created while the block ran.

    Raises:
        FileExistsError: ``target`` exists.
    """
    # Not derived from the target's name, which may already have the greatest possible length.
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
            raise exists_error(target) from None
        except OSError:  # without hard links, the target may be created between the test and the rename
            if os.path.lexists(target):
                raise exists_error(target) from None
            hidden.replace(target)
    finally:
        hidden.unlink(missing_ok=True)
