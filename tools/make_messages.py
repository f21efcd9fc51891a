"""Makes Python classes of Kafka's message schemas, the JSON files that Kafka's own generator reads.

    python tools/make_messages.py                      writes python/kafkacomp/tiered/messages
    python tools/make_messages.py --check              fails if what is there differs
    python tools/make_messages.py --jar JAR            renews the schemas from the published jar before

The schemas in ``tools/kafka-messages`` are copies of those in the jar that ``SOURCE`` names, whose hash is checked.
A schema is one of a message of several versions; a class reads all versions that are valid.

The schema language: KIP-482 (flexible versions), and the README of Kafka's folder
``clients/src/main/resources/common/message``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The name, type and versions of a struct's field.
Shape: TypeAlias = tuple[str, str, str]

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "tools" / "kafka-messages"
TARGET = ROOT / "python" / "kafkacomp" / "tiered" / "messages"

#: The jar that each folder of schemas is from: Maven coordinates, SHA-256.
SOURCE = {
    "storage": (
        "org.apache.kafka:kafka-storage:4.3.1",
        "97e3facddd2914a58f28ec91ef35f8da69963eab3651196e97f487924f6dac98",
    ),
}
#: Module: the folder of its schemas, and what the topic is.
MODULES = {"remote_log_metadata": ("storage", "Records of ``__remote_log_metadata``, the topic of tiered storage")}

PLAIN = {
    "bool": ("bool", "boolean", "False"),
    "int8": ("int", "int8", "0"),
    "int32": ("int", "int32", "0"),
    "int64": ("int", "int64", "0"),
    "uuid": ("str", "uuid", '"AAAAAAAAAAAAAAAAAAAAAA"'),
}
#: The methods that read what has a length. ``Reader`` has those that the schemas need; mypy reports one that it lacks.
SIZED = {"string": "string", "bytes": "octets"}


@dataclass(frozen=True)
class Versions:
    """A range of versions as the schemas write it: ``0``, ``0-3``, ``2+``, ``none``."""

    first: int
    last: int

    @classmethod
    def of(cls, text: str) -> Versions:
        """Read it."""
        if text == "none":
            return cls(1, 0)
        matched = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
        if matched is None:
            raise ValueError(f"not a range of versions: {text!r}")
        first = int(matched[1])
        return cls(first, 32767 if matched[2] == "+" else int(matched[3] or first))

    def test(self, within: Versions) -> str | None:
        """The condition under which a version of ``within`` is one of these; ``None`` if each is, "False" if none."""
        if self.first <= within.first and self.last >= within.last:
            return None
        if self.last < self.first or self.first > within.last or self.last < within.first:
            return "False"
        if self.last >= within.last:
            return f"version >= {self.first}"
        return f"version <= {self.last}" if self.first <= within.first else f"{self.first} <= version <= {self.last}"


def snake(name: str) -> str:
    """``StartOffset`` as ``start_offset``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Message:
    """The classes of one schema."""

    def __init__(self, schema: dict[str, Any], made: dict[str, list[Shape]]) -> None:
        self.made = made
        self.schema = schema
        self.name = schema["name"]
        self.valid = Versions.of(schema["validVersions"])
        if Versions.of(schema["flexibleVersions"]).test(self.valid) is not None:
            raise ValueError(f"{self.name}: only flexible versions are supported")
        self.structs: list[tuple[str, str, list[dict[str, Any]]]] = []
        self._find(schema["fields"])
        for struct in schema.get("commonStructs", []):
            self._find(struct["fields"])
            self.structs.append((struct["name"], f"``{struct['name']}`` of :class:`{self.name}`.", struct["fields"]))

    def _find(self, fields: list[dict[str, Any]]) -> None:
        for field in fields:
            if "fields" in field:
                self._find(field["fields"])
                name = field["type"].removeprefix("[]")
                self.structs.append((name, field.get("about", "").strip() or name, field["fields"]))

    def lines(self) -> Iterator[str]:
        """The classes, those first that others need; a struct that an earlier message has, too, has its class already.

        Raises:
            ValueError: two messages have different structs of one name.
        """
        for name, about, fields in self.structs:
            shape = [(field["name"], field["type"], field["versions"]) for field in fields]
            if self.made.setdefault(name, shape) is shape:
                yield from self._class(name, sentence(about), fields, [])
            elif self.made[name] != shape:
                raise ValueError(f"{self.name}: {name} differs from the struct of this name in another message")
        version = f"{self.valid.first} to {self.valid.last}" if self.valid.last > self.valid.first else self.valid.first
        head = [f"VERSIONS: ClassVar = range({self.valid.first}, {self.valid.last + 1})"]
        if "apiKey" in self.schema:
            head.insert(0, f"API_KEY: ClassVar = {self.schema['apiKey']}")
        yield from self._class(self.name, f"Kafka's ``{self.name}``, version {version}.", self.schema["fields"], head)

    def _class(self, name: str, about: str, fields: list[dict[str, Any]], head: list[str]) -> Iterator[str]:
        yield "@dataclass(frozen=True)"
        yield f"class {name}:"
        yield f'    """{about}"""'
        yield ""
        yield from (f"    {line}" for line in head)
        for field in fields:
            for line in textwrap.wrap(sentence(field.get("about", "")), 112):
                yield f"    #: {line}"
            yield f"    {snake(field['name'])}: {self._annotation(field)}"
        yield ""
        yield "    @classmethod"
        yield "    def read(cls, source: Reader, version: int) -> Self:"
        yield '        """Read one of this version."""'
        tagged = [field for field in fields if "tag" in field]
        if not tagged and all(Versions.of(field["versions"]).test(self.valid) is None for field in fields):
            yield f"        found = cls({', '.join(map(self._read, fields))})"
            yield from ("        source.skip_tagged_fields()", "        return found", "", "")
            return
        plain = [field for field in fields if "tag" not in field]
        if fields[: len(plain)] == plain and all(
            Versions.of(field["versions"]).test(self.valid) is None for field in plain
        ):
            yield f"        fields = ({''.join(f'{self._read(field)}, ' for field in plain)})"
            names = ["*fields", *(snake(field["name"]) for field in tagged)]
            plain = []
        else:
            names = [snake(field["name"]) for field in fields]
        for field in plain:
            read, test = self._read(field), Versions.of(field["versions"]).test(self.valid)
            value = read if test is None else f"{read} if {test} else {self._default(field)}"
            if test != "False":
                yield f"        {snake(field['name'])} = {value}"
            else:
                yield f"        {snake(field['name'])}: {self._annotation(field)} = {self._default(field)}"
        for field in tagged:
            yield f"        {snake(field['name'])} = {self._default(field)}"
        yield "        for tag, data in source.tagged_fields():"
        for field in tagged:
            test = Versions.of(field["taggedVersions"]).test(self.valid)
            also = "" if test is None else f" and {test}"
            yield f"            if tag == {field['tag']}{also}:"
            yield f"                {snake(field['name'])} = {self._read(field).replace('source.', 'data.')}"
        if not tagged:
            yield "            del tag, data"
        yield f"        return cls({', '.join(names)})"
        yield ""
        yield ""

    def _is_nullable(self, field: dict[str, Any]) -> bool:
        return "nullableVersions" in field and Versions.of(field["nullableVersions"]).test(self.valid) != "False"

    def _annotation(self, field: dict[str, Any]) -> str:
        kind = field["type"]
        found = self._plain_annotation(kind.removeprefix("[]"))
        if kind.startswith("[]"):
            found = f"tuple[{found}, ...]"
        return f"{found} | None" if self._is_nullable(field) else found

    def _plain_annotation(self, kind: str) -> str:
        if kind in PLAIN:
            return PLAIN[kind][0]
        return {"string": "str", "bytes": "bytes"}.get(kind) or kind

    def _read(self, field: dict[str, Any]) -> str:
        kind = field["type"]
        if kind.startswith("[]"):
            read = self._element(kind[2:])
            null = "nullable_" if self._is_nullable(field) else ""
            return f"source.{null}array(lambda source: {read})"
        if kind in SIZED and self._is_nullable(field):
            return f"source.nullable_{SIZED[kind]}()"
        return self._element(kind)

    def _element(self, kind: str) -> str:
        if kind in PLAIN:
            return f"source.{PLAIN[kind][1]}()"
        if kind in SIZED:
            return f"source.{SIZED[kind]}()"
        return f"{kind}.read(source, version)"

    def _default(self, field: dict[str, Any]) -> str:
        kind, default = field["type"], field.get("default")
        if default in {"null", None} and self._is_nullable(field):
            return "None"
        if kind.startswith("[]"):
            return "()"
        if default is not None:
            text = str(default)
            return {"true": "True", "false": "False"}.get(text, repr(text) if kind == "string" else text)
        if kind in PLAIN:
            return PLAIN[kind][2]
        return {"string": '""', "bytes": 'b""'}[kind]


def sentence(about: str) -> str:
    """A description as one line that ends with a full stop."""
    text = " ".join(about.split())
    return text if not text or text.endswith(".") else f"{text}."


def module(name: str) -> str:
    """The module of a topic's messages."""
    folder, about = MODULES[name]
    coordinates, digest = SOURCE[folder]
    schemas = [json.loads(without_comments(path.read_text())) for path in sorted((SCHEMAS / folder).glob("*.json"))]
    lines = [
        f'"""{about}.',
        "",
        "Made by tools/make_messages.py from the message schemas of",
        f"{coordinates}, SHA-256 of the jar",
        f"{digest}.",
        "",
        "Apache Kafka, Copyright The Apache Software Foundation: licensed under the Apache License 2.0; see",
        "tools/kafka-messages/NOTICE.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
        "from typing import TYPE_CHECKING, ClassVar, Self",
        "",
        "if TYPE_CHECKING:",
        "    from kafkacomp.tiered.messages.reader import Reader",
        "",
        "",
    ]
    made: dict[str, list[Shape]] = {}
    for schema in schemas:
        lines += Message(schema, made).lines()
    return formatted("\n".join(lines) + "\n")


def formatted(text: str) -> str:
    """As `ruff format` has it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET / "made.py"), "-"]
    done = subprocess.run(command, input=text, check=True, capture_output=True, text=True, cwd=ROOT)  # noqa: S603 - fixed
    return done.stdout


def without_comments(text: str) -> str:
    """A schema without its licence, which stands in ``//`` comments that JSON does not have."""
    return re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)


def take(jar: Path, folder: str) -> None:
    """Copy the schemas that are there, and the notice, from the jar.

    Raises:
        SystemExit: it is another jar.
    """
    coordinates, digest = SOURCE[folder]
    if hashlib.sha256(jar.read_bytes()).hexdigest() != digest:
        sys.exit(f"{jar} is not {coordinates}: its SHA-256 is not {digest}")
    with zipfile.ZipFile(jar) as archive:
        for path in (SCHEMAS / folder).glob("*.json"):
            path.write_bytes(archive.read(f"message/{path.name}"))
        (SCHEMAS / "NOTICE").write_bytes(archive.read("NOTICE"))


def main() -> int:
    """Write the modules, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--jar", type=Path, help="the jar to copy the schemas from")
    options = parser.parse_args()
    if options.jar is not None:
        take(options.jar, "storage")
    stale = 0
    for name in MODULES:
        target, text = TARGET / f"{name}.py", module(name)
        if options.check and (not target.exists() or target.read_text() != text):
            print(f"{target.relative_to(ROOT)} is not what tools/make_messages.py makes")
            stale += 1
        elif not options.check:
            target.write_text(text)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
