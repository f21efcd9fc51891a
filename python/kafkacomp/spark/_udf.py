"""Functions on columns as the PySpark at hand runs them fastest.

From 4.1 on an Arrow UDF takes and gives Arrow arrays. Before, there are pandas UDFs: cells come in as Python's
``bytes``, and what goes out is an Arrow array in a Series' clothes, so that at least the results are no Python objects.

What travels to the workers is a function that names nothing of this package, pickled whole: where kafkacomp is not
installed it runs all the same, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import functions as _functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

__all__ = ["HAS_ARROW_UDF", "in_arrow", "vectorized"]

#: Its functions by the versions that have them, which is not what type checkers see.
functions: Any = _functions
#: Whether UDFs take Arrow arrays: PySpark 4.1 and later.
HAS_ARROW_UDF = hasattr(functions, "arrow_udf")


def vectorized(
    function: str, returns: DataType, parameters: tuple[str, ...], constants: Mapping[str, object]
) -> Callable[..., Column]:
    """A UDF that gives what a function of :mod:`kafkacomp.spark._cells` gives.

    Args:
        function: The function's name.
        returns: What it returns.
        parameters: What the UDF's arguments behind the first, the cells, are called; it may be called with fewer.
        constants: Further arguments, the same for all rows.
    """
    run = _shipped("in_columns" if HAS_ARROW_UDF else "in_series", function, parameters, constants)

    def udf(*columns: object) -> object:
        return run(columns)

    udf.__name__ = udf.__qualname__ = f"kafkacomp_{function}"
    if HAS_ARROW_UDF:
        import pyarrow as pa  # noqa: PLC0415 - needed to make a UDF, not to import this

        udf.__annotations__ = {"columns": pa.Array, "return": pa.Array}
        return cast("Callable[..., Column]", functions.arrow_udf(udf, returns))
    import pandas as pd  # noqa: PLC0415 - as above

    udf.__annotations__ = {"columns": pd.Series, "return": pd.Series}
    return cast("Callable[..., Column]", functions.pandas_udf(udf, returns))


def in_arrow(
    function: str, constants: Mapping[str, object]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for ``mapInArrow`` that gives what a generator of :mod:`kafkacomp.spark._cells` gives."""
    return _shipped("in_batches", function, (), constants)


def _shipped(
    way: str, function: str, parameters: tuple[str, ...], constants: Mapping[str, object]
) -> Callable[[Any], Any]:
    """The part that runs in a worker. Whatever it needs it finds there, and no name of this module."""

    def run(columns: object) -> Any:  # noqa: ANN401 - what the function gives
        try:
            from kafkacomp.spark import _cells  # noqa: PLC0415 - see above
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("kafkacomp"):
                raise
            import os  # noqa: PLC0415 - as above
            import platform  # noqa: PLC0415 - as above
            import sys  # noqa: PLC0415 - as above

            os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # as kafkacomp.spark._errors.plain does
            raise ModuleNotFoundError(
                f"kafkacomp is not installed where the executor on {platform.node()} runs Python ({sys.executable}): "
                f"no module {error.name}. Install the wheel in its image, or ship an environment with --archives "
                "and spark.pyspark.python (docs/spark.md)",
                name=error.name,
            ) from None
        return getattr(_cells, way)(function, columns, parameters, constants)

    return run
