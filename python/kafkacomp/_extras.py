"""Packages that extras of this one install."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

__all__ = ["alt", "fs", "pa", "parquet", "pc", "require", "with_command"]

#: What pip installs for a package: an extra of this one (``project.optional-dependencies``), or pandas alone, because
#: readers convert to it without the rest of the extra ``spark``.
_REQUIREMENTS: Final = {
    "altair": "'kafkacomp[report]'",
    "click": "'kafkacomp[cli]'",
    "fsspec": "'kafkacomp[remote]'",
    "jinja2": "'kafkacomp[report]'",
    "pandas": "pandas",
    "polars": "'kafkacomp[polars]'",
    "pyarrow": "'kafkacomp[arrow]'",
    "pyspark": "'kafkacomp[spark]'",
    "rich": "'kafkacomp[cli]'",
    "vl_convert": "'kafkacomp[report]'",
}


def with_command(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error with the command that installs the package; the same error for any other package."""
    package = (error.name or "").partition(".")[0]
    if package not in _REQUIREMENTS:
        return error
    return ModuleNotFoundError(f"{package} is not installed: pip install {_REQUIREMENTS[package]}", name=package)


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
