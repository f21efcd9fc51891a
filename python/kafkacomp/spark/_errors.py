"""How errors look to users of Spark."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["briefly"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def briefly(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Cut the way to an error out of its traceback: Spark shows users that text, of which what and where matter."""

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except (KafkaCompError, OSError, ValueError) as error:
            raise error.with_traceback(None) from None

    return call
