"""Serialize readers and writers so that an executor without kafkacomp reports this.

Spark pickles classes by name. On an executor without kafkacomp, unpickling would fail inside Spark with an error that
does not name the host. The function :func:`unpack` is therefore pickled by value, and reports what is missing where.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

from pyspark import cloudpickle


def unpack(packed: bytes) -> Any:  # noqa: ANN401 - whatever was packed
    """Unpickle an object that :meth:`SentToExecutors.__reduce__` has pickled.

    Raises:
        ImportError: kafkacomp cannot be imported; the message has the host and the interpreter.
    """
    # Runs where this module may be missing, so it must import all that it needs.
    import importlib  # noqa: PLC0415
    import os  # noqa: PLC0415
    import pickle  # noqa: PLC0415
    import socket  # noqa: PLC0415
    import sys  # noqa: PLC0415

    try:
        importlib.import_module("kafkacomp.spark")
    except ImportError as error:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # as kafkacomp.spark._errors.plain does
        raise ImportError(
            f"kafkacomp cannot be imported on {socket.gethostname()} by {sys.executable} ({error}):"
            " it must be installed, with pyarrow, where the executors are"
        ) from None
    kind, attributes = pickle.loads(packed)  # noqa: S301 - packed below
    made = kind.__new__(kind)
    made.__dict__.update(attributes)
    return made


class SentToExecutors:
    """Base class of the objects that Spark sends to executors."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the class by name, and the attributes."""
        return unpack, (pickle.dumps((type(self), self.__dict__)),)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # PySpark has no type for it
