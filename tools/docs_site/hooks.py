"""MkDocs hooks: pages generated from the code, and links from docs/ to files of the repository.

MkDocs imports this file by its path (mkdocs.yml) with the folder on ``sys.path``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import api
import behaviour
import commands
import errors
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/kafkacomp/kafkacomp/blob/main/"
#: A file of the repository that a page shows.
FILE = re.compile(r"^<!-- file: (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)")


def on_config(config: Any) -> Any:  # noqa: ANN401 - of mkdocs, which `make lint` does not install
    """List the API pages in the navigation."""
    (reference,) = [each["Reference"] for each in config.nav if "Reference" in each]
    (entry,) = [each for each in reference if "API" in each]
    entry["API"] = list(api.pages())
    return config


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - as above
    """Add the generated pages."""
    pages = {
        **api.pages(),
        "reference/commands.md": commands.page(),
        "reference/errors.md": errors.page(),
    }
    for name, content in pages.items():
        present = files.get_file_from_path(name)
        if present is not None:
            files.remove(present)
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:  # noqa: ANN401 - as above
    """Make links that leave docs/ lead to the repository."""
    if page.file.abs_src_path is None:
        return markdown
    if page.file.src_uri == "kafka-behaviour.md":
        markdown = markdown.replace(behaviour.MARK, behaviour.table())
    folder = Path(page.file.abs_src_path).parent

    def replaced(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        if not target.is_relative_to(ROOT) or target.is_relative_to(ROOT / "docs") or not target.exists():
            return match[1]
        return REPOSITORY + target.relative_to(ROOT).as_posix()

    return FILE.sub(_fenced, LINK.sub(replaced, markdown))


def _fenced(match: re.Match[str]) -> str:
    return f"```python\n{(ROOT / match[1]).read_text(encoding='utf-8')}```"
