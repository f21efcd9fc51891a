"""Random messages of internal topics, serialized by the classes that Kafka generates from the same schemas.

    python tests/kafka/livekafka/messages.py SEED COUNT FILE

writes COUNT messages of each schema and version, a line for each: name, version, the bytes in hex, Kafka's JSON.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KAFKA = Path(__file__).resolve().parents[1]
SCHEMAS = KAFKA.parents[1] / "rust" / "kafkacomp-schemas" / "schemas"
PROJECT = KAFKA / "internal"
JAVA_TIMEOUT = 600.0

#: Folder of schemas: the package of the classes.
PACKAGES = {
    "consumer-protocol": "org.apache.kafka.common.message",
    "control": "org.apache.kafka.common.message",
    "group-coordinator": "org.apache.kafka.coordinator.group.generated",
    "metadata": "org.apache.kafka.common.metadata",
    "remote-log-metadata": "org.apache.kafka.server.log.remote.metadata.storage.generated",
    "share-coordinator": "org.apache.kafka.coordinator.share.generated",
    "transaction-coordinator": "org.apache.kafka.coordinator.transaction.generated",
}
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
#: Other types: a function that returns a random value.
PLAIN: dict[str, Callable[[random.Random], Any]] = {
    "bool": lambda numbers: numbers.random() < 0.5,
    "uint16": lambda numbers: numbers.choice([0, 2**16 - 1, numbers.getrandbits(16)]),
    "uint32": lambda numbers: numbers.choice([0, 2**32 - 1, numbers.getrandbits(32)]),
    # Few digits: before Java 19, Double.toString had some more than needed.
    "float64": lambda numbers: numbers.choice([0.0, -0.0, 1e7, 1e-3, 12.5, 1e300, numbers.randrange(10**6) / 64]),
    "uuid": lambda numbers: text_of(base64.urlsafe_b64encode(numbers.choice([bytes(16), numbers.randbytes(16)]))[:22]),
    "bytes": lambda numbers: text_of(base64.b64encode(numbers.randbytes(numbers.choice([0, 1, 2, 3, 200])))),
    "string": lambda numbers: "".join(numbers.choices(LETTERS, k=numbers.choice([0, 1, 9, 130]))),
}
LETTERS = 'abcXYZ09.-_ "\\/\b\f\n\r\t\0\x1f\x7fé鍵\u2028😀'


@dataclass(frozen=True)
class Schema:
    """A schema and the struct types that its fields share."""

    folder: str
    json: dict[str, Any]

    @property
    def versions(self) -> range:
        """Return the valid versions."""
        return versions(self.json["validVersions"], last=0)

    def struct(self, name: str, field: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the fields of a struct type."""
        common = {each["name"]: each["fields"] for each in self.json.get("commonStructs", [])}
        fields: list[dict[str, Any]] = field.get("fields") or common[name]
        return fields


def text_of(letters: bytes) -> str:
    """Return ASCII as a string."""
    return letters.decode()


def versions(text: str, last: int = 99) -> range:
    """Return the versions of a range as the schemas write it."""
    if text == "none":
        return range(0)
    matched = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
    assert matched, text
    first = int(matched[1])
    return range(first, (last if matched[2] == "+" else int(matched[3] or first)) + 1)


def schemas() -> Iterator[Schema]:
    """Return all schemas of the tree."""
    for folder in PACKAGES:
        for path in sorted((SCHEMAS / folder).glob("*.json")):
            text = re.sub(r"(?m)^\s*//.*$", "", path.read_text(encoding="utf-8"))
            yield Schema(folder, json.loads(text))


def fields(schema: Schema, members: list[dict[str, Any]], version: int, numbers: random.Random) -> dict[str, Any]:
    """Return random values of a struct's fields; some tagged fields are left out."""
    made = {}
    for field in members:
        tagged = version in versions(field.get("taggedVersions", "none"))
        if version not in versions(field.get("versions") or field["taggedVersions"]):
            continue
        if tagged and numbers.random() < 0.3:
            continue
        name = field["name"][0].lower() + field["name"][1:]
        is_nullable = version in versions(field.get("nullableVersions", "none"))
        null = is_nullable and numbers.random() < 0.3
        made[name] = None if null else value(schema, field["type"], field, version, numbers)
    return made


def value(schema: Schema, kind: str, field: dict[str, Any], version: int, numbers: random.Random) -> Any:
    """Return a random value of a type."""
    if kind.startswith("[]"):
        count = numbers.choice([0, 0, 1, 2, 5])
        return [value(schema, kind[2:], field, version, numbers) for _ in range(count)]
    if kind in BITS:
        bits = BITS[kind]
        return numbers.choice([0, -1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, numbers.getrandbits(bits - 1)])
    if kind in PLAIN:
        return PLAIN[kind](numbers)
    return fields(schema, schema.struct(kind, field), version, numbers)


def lines(seed: int, count: int) -> Iterator[str]:
    """Return the input of the Java program."""
    numbers = random.Random(seed)
    for schema in schemas():
        name = f"{PACKAGES[schema.folder]}.{schema.json['name']}"
        for version in schema.versions:
            for _ in range(count):
                made = json.dumps(fields(schema, schema.json["fields"], version, numbers))
                flexible = version in versions(schema.json["flexibleVersions"])
                yield f"{name}\t{version}\t{numbers.randrange(3) if flexible else 0}\t{made}\n"


def write(seed: int, count: int, target: Path) -> int:
    """Write the messages that Kafka serialized; return how many."""
    from livekafka import maven, tools  # noqa: PLC0415 - also run as a program

    class_path = maven.class_path(PROJECT, "process-resources")
    source = PROJECT / "src" / "WriteMessages.java"
    command = ["java", *tools.JAVA_OPTIONS, "-cp", class_path, str(source)]
    done = subprocess.run(
        command, input="".join(lines(seed, count)).encode(), capture_output=True, timeout=JAVA_TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    target.write_bytes(gzip.compress(done.stdout, mtime=0))
    return done.stdout.count(b"\n")


if __name__ == "__main__":
    sys.path.insert(0, str(KAFKA))
    print(write(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))  # noqa: T201 - a program
