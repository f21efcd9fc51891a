"""Make UDFs of the kind that is fastest in the installed PySpark.

PySpark 4.1 and later have Arrow UDFs. Before, pandas UDFs are used: arguments are Python ``bytes``, and the result is
an Arrow array wrapped as a Series, without a Python object for each cell.

The function that Spark sends to workers is pickled by value and refers to nothing of this package, so that it can
report that kafkacomp is not installed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import functions as _functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

#: As Any, because functions differ between versions of PySpark.
functions: Any = _functions
#: Whether UDFs take Arrow arrays: PySpark 4.1 and later.
HAS_ARROW_UDF = hasattr(functions, "arrow_udf")


def vectorized(
    function: str, returns: DataType, parameters: tuple[str, ...], constants: Mapping[str, object]
) -> Callable[..., Column]:
    """Make a UDF of a function of :mod:`kafkacomp.spark._cells`.

    Args:
        function: The function's name.
        returns: The type of its result.
        parameters: The names of the UDF's arguments after the first, the cells; calls may have fewer.
        constants: Further arguments, the same for all rows.
    """
    run = _by_value("in_columns" if HAS_ARROW_UDF else "in_series", function, parameters, constants)

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
    """Make a function for ``mapInArrow`` of a generator of :mod:`kafkacomp.spark._cells`."""
    return _by_value("in_batches", function, (), constants)


def _by_value(
    way: str, function: str, parameters: tuple[str, ...], constants: Mapping[str, object]
) -> Callable[[Any], Any]:
    """Make the function that runs in a worker, which must not refer to names of this module."""

    def run(columns: object) -> Any:  # noqa: ANN401 - the function's result
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
                f"kafkacomp is not installed on the executor {platform.node()} for {sys.executable}: no module "
                f"{error.name}. Install the wheel in its image, or send an environment with --archives and "
                "spark.pyspark.python (docs/spark.md)",
                name=error.name,
            ) from None
        return getattr(_cells, way)(function, columns, parameters, constants)

    return run
