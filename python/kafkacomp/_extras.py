"""Packages that extras of this one install."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

__all__ = ["alt", "fs", "pa", "parquet", "pc", "require", "with_command"]

#: The extra that installs a package (``project.optional-dependencies``).
_EXTRAS: Final = {
    "altair": "report",
    "click": "cli",
    "fsspec": "remote",
    "jinja2": "report",
    "pandas": "spark",
    "polars": "polars",
    "pyarrow": "arrow",
    "pyspark": "spark",
    "rich": "cli",
    "vl_convert": "report",
}


def with_command(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error with the command that installs the package; the same error for a package of no extra."""
    package = (error.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return error
    command = f"pip install 'kafkacomp[{_EXTRAS[package]}]'"
    return ModuleNotFoundError(f"{package} is not installed: {command}", name=package)


def require(module: str) -> Any:  # noqa: ANN401 - as `import` is for packages without types
    """Import a module of a package that an extra installs.

    Raises:
        ModuleNotFoundError: the package is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise with_command(error) from None


class _Lazy:
    """A module of such a package, imported when one of its names is used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as above
        return getattr(require(self._module), name)


if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import fs, parquet
else:
    alt = _Lazy("altair")
    pa, pc = _Lazy("pyarrow"), _Lazy("pyarrow.compute")
    fs, parquet = _Lazy("pyarrow.fs"), _Lazy("pyarrow.parquet")
