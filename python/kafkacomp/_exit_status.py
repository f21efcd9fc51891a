"""The exit statuses of the commands, and which of them an error is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from kafkacomp._text import printable
from kafkacomp.exceptions import EncryptionKeyError, KafkaCompError, UnsupportedCompressionTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

FINE, CORRUPT, WRONG_USE, FAILED, INTERRUPTED, PIPE_CLOSED, TERMINATED = 0, 1, 2, 3, 130, 141, 143
#: A path that does not exist, exists, or is of the wrong kind.
_WRONG_PATHS: Final = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
#: The first that fits decides: most errors of this package and some of the operating system are ValueErrors, too.
_STATUSES: Final = (
    # What is read may be intact: another compression type, or the right key, is needed.
    ((EncryptionKeyError, UnsupportedCompressionTypeError), WRONG_USE),
    (KafkaCompError, CORRUPT),
    ((ImportError, *_WRONG_PATHS), WRONG_USE),
    ((OSError, MemoryError), FAILED),
    ((ValueError, TypeError), WRONG_USE),
)


def run(command: Callable[[], object], complain: Callable[[str], object]) -> int:
    """Run a command of click, and return its exit status. What ends it is reported.

    Args:
        command: Calls the command; an integer that it returns is the status.
        complain: Writes a message to standard error.
    """
    import click  # noqa: PLC0415 - an extra, and readers need only the numbers

    try:
        status = command()
        sys.stdout.flush()
    except click.ClickException as error:
        error.__dict__["message"] = printable(error.message)
        error.show()
        return WRONG_USE
    except BrokenPipeError:
        # The reader of the pipe has closed it. Without this, Python would report a second error when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except SystemExit as error:
        # If the pipe of standard output is closed, click and rich replace standard output and exit with 1.
        is_replaced = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        if is_replaced or isinstance(error.__context__, BrokenPipeError):
            return PIPE_CLOSED
        raise
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:
        found = next((status for kinds, status in _STATUSES if isinstance(error, kinds)), None)
        if found is None:
            raise
        complain(_text(error))
        return found
    return status if isinstance(status, int) else FINE


def _text(error: Exception) -> str:
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None)
    return "; ".join([str(error) or "out of memory", *getattr(error, "__notes__", ())])
