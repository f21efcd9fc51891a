"""How errors look to users of Spark."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EXPECTED", "briefly", "plain"]

#: What is wrong with data, files or options; anything else is a fault of ours, whose traceback is wanted.
EXPECTED = (KafkaCompError, OSError, ValueError)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Error = TypeVar("_Error", bound=Exception)


def plain(error: _Error) -> _Error:
    """Make an error that ends a Spark worker say what and where in its first line.

    Spark shows users what the worker makes of it, which begins with a traceback unless the worker is told otherwise.
    The way to the error is ours and tells them nothing.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and main.name.startswith("pyspark."):
        # Spark's own switch; it dies with the worker, which the error ends.
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
    return error.with_traceback(None)


def briefly(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Make the errors of something that Spark calls :func:`plain`."""

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except EXPECTED as error:
            raise plain(error) from None

    return call
