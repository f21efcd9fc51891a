"""The errors that Spark shows to users: short, and for offsets that are lost."""

from __future__ import annotations

import functools
import logging
import os
import sys
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp.spark._options import ReadOptions

_LOGGER = logging.getLogger("kafkacomp")

#: Errors of data, files or options. Any other error is a bug, whose traceback is needed.
EXPECTED = (KafkaCompError, OSError, ValueError)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Error = TypeVar("_Error", bound=Exception)


def plain(error: _Error) -> _Error:
    """Make Spark show the message of an error that ends a worker in its first line.

    Spark shows what the worker prints, which begins with a traceback unless ``SPARK_HIDE_TRACEBACK`` is set. The
    traceback lists frames of this package only, and does not help users.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and main.name.startswith("pyspark."):
        # Affects only this worker process, which the error ends.
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
    return error.with_traceback(None)


def briefly(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Apply :func:`plain` to the errors of a function that Spark calls."""

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except EXPECTED as error:
            raise plain(error) from None

    return call


def tell_loss(losses: list[str], options: ReadOptions) -> None:
    """Report deleted offsets: as an error with ``failOnDataLoss``, else in the log.

    Raises:
        KafkaCompError: offsets were deleted, and ``failOnDataLoss`` is true.
    """
    if options.fail_on_data_loss:
        raise KafkaCompError(
            "; ".join(losses)
            + ". The stream stops, because records may have been lost; with failOnDataLoss=false it continues"
        )
    for loss in losses:
        _LOGGER.warning("%s; the stream continues", loss)
