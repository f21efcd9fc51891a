"""Use the packed crates in an empty project, as someone who depends on them does.

    python tools/packed_crates.py FOLDER

FOLDER has the `.crate` files that `cargo package` writes. The project reads a log of a broker with the readers of the
READMEs, once with the default features and once without C: then no C compiler can be found, and no crate that compiles
C may be a dependency. Prints the number of records of both readers; exits with 1 if they differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "tests" / "vectors" / "modern" / "aiokafka-lz4" / "aiokafka-lz4-0"
#: What compiles C: bindings by their usual name, the compiler's driver, and a crate that has C sources itself.
COMPILES_C = re.compile(r"(.*-sys|cc|cmake|lzzzz)")
FEATURES = ("", 'default-features = false, features = ["pure-rust"]')

PROGRAM = """\
use kafkacomp_log::LogReader;
use kafkacomp_records::limits::Limits;
use kafkacomp_records::record::RecordBatches;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: packed FOLDER")?;
    let (mut in_log, mut in_sets) = (0, 0);
    for record in LogReader::open(&folder)? {
        in_log += i64::from(record?.offset >= 0);
    }
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            for record in RecordBatches::new(std::fs::read(path)?, Limits::default().max_output_size(64 << 20)) {
                in_sets += i64::from(record?.offset >= 0);
            }
        }
    }
    println!("{in_log} {in_sets}");
    Ok(())
}
"""


def project(folder: Path, crates: dict[str, Path], features: str) -> None:
    """Write a project with the crates that the program uses; the others are found by their paths."""
    used = ("kafkacomp-log", "kafkacomp-records")
    lines = ["[package]", 'name = "packed"', 'version = "0.0.0"', 'edition = "2024"', "", "[dependencies]"]
    lines += [f'{name} = {{ version = "*"{", " + features if features else ""} }}' for name in used]
    lines += ["", "[patch.crates-io]", *(f"{name} = {{ path = '{path.as_posix()}' }}" for name, path in crates.items())]
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (folder / "src" / "main.rs").write_text(PROGRAM, encoding="utf-8")


def cargo(folder: Path, *words: str, without_c: bool) -> str:
    """The output of a cargo command in the project."""
    environment = os.environ | ({"CC": "no-c-compiler", "CXX": "no-c-compiler"} if without_c else {})
    program = [os.environ.get("CARGO", "cargo"), *words]
    pipe = subprocess.PIPE
    return subprocess.run(program, cwd=folder, env=environment, check=True, stdout=pipe, text=True).stdout  # noqa: S603 - fixed words


def unpack(packed: Path, folder: Path) -> dict[str, Path]:
    """Unpack the crates; their folders by name."""
    crates = {}
    for path in sorted(packed.glob("kafkacomp-*.crate")):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        crate = folder / path.stem
        crates[tomllib.loads((crate / "Cargo.toml").read_text(encoding="utf-8"))["package"]["name"]] = crate
    return crates


def main(packed: Path) -> int:
    """Build and run both projects; the exit status."""
    faults = []
    with tempfile.TemporaryDirectory() as temporary:
        crates = unpack(packed, Path(temporary, "crates"))
        for features in FEATURES:
            without_c = bool(features)
            folder = Path(temporary, "pure" if without_c else "default")
            project(folder, crates, features)
            tree = cargo(folder, "tree", "--edges", "no-dev", "--prefix", "none", without_c=without_c)
            names = {line.split()[0] for line in tree.splitlines() if line}
            compile_c = sorted(filter(COMPILES_C.fullmatch, names))
            records = cargo(folder, "run", "--quiet", "--", str(LOG), without_c=without_c).split()
            print(f"{folder.name}: {' and '.join(records)} records; compile C: {', '.join(compile_c) or 'none'}")
            if len(set(records)) != 1 or records[0] == "0":
                faults.append(f"{folder.name}: the readers differ")
            if without_c == bool(compile_c):
                faults.append(f"{folder.name}: {compile_c}")
    print(*faults, sep="\n", end="")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
