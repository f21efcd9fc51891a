"""How readers and writers travel to executors, so that one without kafkacomp says so in words.

Spark pickles classes by name. Where the name means nothing, unpickling would fail in the middle of Spark's own code.
The one function here is sent along by value instead, and needs no kafkacomp to say what is missing where.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

from pyspark import cloudpickle

__all__ = ["Shipped", "unpack"]


def unpack(packed: bytes) -> Any:  # noqa: ANN401 - whatever was packed
    """Make the object that :meth:`Shipped.__reduce__` packed.

    Raises:
        ImportError: kafkacomp cannot be imported here; with the host and the interpreter.
    """
    # Runs where this module may not be: all that it needs is imported here.
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


class Shipped:
    """A base of what Spark sends to executors."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pack the class, by its name, and the attributes."""
        return unpack, (pickle.dumps((type(self), self.__dict__)),)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # PySpark has no type for it
