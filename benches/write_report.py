"""Writes benches/results/report.md: the ratios of all comparisons, each aim beside what was measured.

Reads what the other scripts left in benches/results, the aims in aims.toml, and criterion's estimates if there are any.

Run: python benches/write_report.py
"""

from __future__ import annotations

import json
import statistics
import tomllib
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

BENCHES = Path(__file__).resolve().parent
RESULTS = BENCHES / "results"
CRITERION = BENCHES.parent / "target" / "criterion"


class Line(NamedTuple):
    """An aim and what was measured."""

    what: str
    aim: float
    measured: float
    #: What stands beside it, without an aim.
    beside: str = ""


def main() -> None:
    """Writes the report from whatever results there are."""
    aims = tomllib.loads((BENCHES / "aims.toml").read_text())
    out = ["# Benchmarks: aims and what was measured", ""]
    out += ["Made by `make bench` (`benches/write_report.py`). A ratio above its aim meets it.", ""]
    met = total = 0
    for name, aim in aims.items():
        report = _load(aim["report"])
        if report is None:
            out += [f"## {name}", "", f"Not measured: `{aim['report']}.json` is not there.", ""]
            continue
        lines = list(LINES[name](aim, report))
        met += sum(line.measured >= line.aim for line in lines)
        total += len(lines)
        out += [f"## {name}", "", *_where(aim["report"], report), ""]
        out += ["| | aim | measured | | beside it |", "|---|---|---|---|---|"]
        for line in lines:
            verdict = "met" if line.measured >= line.aim else "**short**"
            out.append(f"| {line.what} | {line.aim:g} | {line.measured:.2f} | {verdict} | {line.beside} |")
        out.append("")
    out[3:3] = ["", *_summary(), f"{met} of {total} aims are met."]
    out += _kafka_protocol()
    out += _criterion()
    (RESULTS / "report.md").write_text("\n".join(out).rstrip() + "\n")
    print(f"{met} of {total} aims are met: {RESULTS / 'report.md'}")


def _load(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def _where(name: str, report: dict[str, Any]) -> list[str]:
    if "machine" in report:
        facts = report["machine"]
        load = f"load {facts['load'].split()[0]}" if "load" in facts else "load unknown"
        where = f"{facts['date']}, commit {facts['commit']}, {facts['cpu']}, {load}"
        return [f"`{name}`: {where}, rounds {report['rounds']}."]
    facts = next(iter(report.values()))
    load = f"load {facts['machine']['load_average']}"
    machine = f"{facts['machine']['cpu']}, {facts['machine']['cores']} cores, {load}"
    return [f"`{name}`: {facts['date']}, {machine}; aiokafka {facts['versions'].get('aiokafka', 'is not there')}."]


def _summary() -> list[str]:
    """What a reader who looks at nothing else should know, as far as it was measured."""
    lines = []
    limits = (_load("compare-limits") or {"results": []})["results"]
    packed = [result for result in limits if result["codec"] != "none"]
    if packed:
        shares = _span([100 * result["ratios"]["views by limit"] for result in packed], "{:.0f}")
        lines.append(
            f"- One thread decompresses, verifies and parses into columns at {shares}% of the speed of the codec's"
            " own library and the checksum alone (compressed batches of 16 KB and 1 MB, `binary_view`)."
        )
        shares = _span([100 * result["ratios"]["views_file threads by processes"] for result in limits], "{:.0f}")
        lines.append(
            f"- Two threads reach {shares}% of the throughput of two independent processes (files, `binary_view`)."
        )
    java = [each for each in (_load("compare-java") or {"results": []})["results"] if each["batch"] == "16k"]
    if java:
        ratios = _span([result["ratios"]["poll"] for result in java], "{:.1f}")
        lines.append(
            f"- Columns come {ratios} times as fast as Kafka's Java consumer path delivers the same records"
            " (batches of 16 KB, all codecs)."
        )
    spark = (_load("compare-connector") or {"results": []})["results"]
    exports = [result["export_ratio"] for result in spark if "export_ratio" in result]
    if exports:
        ratios = _span(exports, "{:.1f}")
        lines.append(f"- Parquet by `kafkacomp.spark.export` takes {ratios} times less time than by Spark's connector.")
    return [*lines, ""] if lines else []


def _span(values: list[float], form: str) -> str:
    """The least and the largest value."""
    least, most = form.format(min(values)), form.format(max(values))
    return least if least == most else f"{least} to {most}"


def _limits(aim: dict[str, Any], report: dict[str, Any]) -> Iterator[Line]:
    java = (_load("compare-java") or {"results": []})["results"]
    beside = {(each["codec"], each["batch"]): each for each in java if each["mode"] == "memory"}
    for result in report["results"]:
        if result["codec"] in aim["codecs"] and result["batch"] in aim["batches"]:
            other = beside.get((result["codec"], result["batch"]), {}).get("views_ratios")
            ratios = other and ", ".join(f"{name} {ratio:.2f}" for name, ratio in other.items())
            what = f"{result['codec']}, {result['batch']}"
            yield Line(what, aim["share"], result["ratios"]["views by limit"], f"Java: {ratios}" if ratios else "")


def _two_threads(aim: dict[str, Any], report: dict[str, Any]) -> Iterator[Line]:
    for result in report["results"]:
        for kind in ("views", "binary", "views_file", "binary_file"):
            place = f"{kind.removesuffix('_file')}, {'file' if kind.endswith('_file') else 'memory'}"
            what = f"{result['codec']}, {result['batch']}, {place}"
            ratios, fastest = result["ratios"], result["fastest"]
            processes = ratios[f"{kind} processes"]
            # Two processes need the time of one for twice the records.
            share = fastest[f"{kind}_processes"] / 2 / fastest[f"{kind}_2"]
            beside = f"fastest passes {share:.2f}"
            if one_file := ratios.get(f"{kind} threads by one file"):
                beside += f", on one file {one_file:.2f}"
            yield Line(f"{what}: by processes", aim["by_processes"], ratios[f"{kind} threads by processes"], beside)
            if processes >= aim["speedup"]:
                gain = fastest[f"{kind}_1"] / fastest[f"{kind}_2"]
                beside = f"fastest passes {gain:.2f}, two processes {processes:.2f}"
                yield Line(f"{what}: by one thread", aim["speedup"], ratios[f"{kind} threads"], beside)


def _java(aim: dict[str, Any], report: dict[str, Any]) -> Iterator[Line]:
    for result in report["results"]:
        for kind, ratios in (("binary", "ratios"), ("views", "views_ratios")):
            for deliver, wanted in aim[kind].get(result["batch"], {}).items():
                if result["codec"] == "none" and ratios in result:
                    what = f"none, {result['batch']}, {result['mode']}, {kind} / {deliver}"
                    cpu = result[f"{ratios.removesuffix('ratios')}cpu_ratios"][deliver]
                    yield Line(what, wanted, result[ratios][deliver], f"by processor time {cpu:.2f}")


def _aiokafka(aim: dict[str, Any], report: dict[str, Any]) -> Iterator[Line]:
    for batch, measured in report.items():
        shares = {_codec(each): each["share"] for each in measured.get("limits", [])}
        by_codec: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
        for result in measured["results"]:
            by_codec.setdefault(_codec(result), {})[result["stage"], result["by"]] = result
        for codec, results in by_codec.items():
            theirs = results.get(("iterate", "aiokafka"))
            if theirs is None:
                continue
            ratios = {stage: _paired(theirs, ours) for (stage, by), ours in results.items() if by == "kafkacomp"}
            if "iterate" in ratios and batch in aim["iterate"]:
                yield Line(f"iterate, {codec}, {batch}", aim["iterate"][batch], ratios["iterate"])
            if codec == "none" and "arrow" in ratios and batch in aim["arrow"]:
                beside = f"share of the limit {shares[codec]:.2f}" if codec in shares else ""
                yield Line(f"arrow, {codec}, {batch}", aim["arrow"][batch], ratios["arrow"], beside)
            elif codec in shares and "arrow" in ratios:
                yield Line(
                    f"arrow, {codec}, {batch}: by the limit",
                    aim["share"],
                    shares[codec],
                    f"aiokafka: {ratios['arrow']:.2f}",
                )


def _codec(result: dict[str, Any]) -> str:
    name, level = result["compression_type"], result["level"]
    return str(name) if level is None else f"{name} {level}"


def _paired(theirs: dict[str, Any], ours: dict[str, Any]) -> float:
    rounds = zip(theirs["seconds"]["rounds"], ours["seconds"]["rounds"], strict=True)
    return statistics.median(their / our for their, our in rounds)


def _build(aim: dict[str, Any], report: dict[str, Any]) -> Iterator[Line]:
    for result in report["results"]:
        codec, batch, ratio = result["codec"], result["batch"], result["ratios"]["ours"]
        what = f"{codec}, {batch}, size {result['size']:.3f} of Java's"
        if codec in aim["codecs"].get(batch, []):
            yield Line(f"{what}: by the limit", aim["share"], result["share"], f"Java: {ratio:.2f}")
        wanted = aim["java"].get(batch, {}).get(codec)
        if wanted is not None:
            yield Line(f"{what}: by Java", wanted, ratio, f"share of the limit {result['share']:.2f}")


def _streams(aim: dict[str, Any], report: dict[str, Any]) -> Iterator[Line]:
    for (codec, way), group in groupby(report["results"], lambda result: (result["codec"], result["way"])):
        sides = {result["by"]: result for result in group}
        peers = [result for by, result in sides.items() if by not in {"kafkacomp", "limit"}]
        fair = [result for result in peers if way == "read" or result["size"] <= aim["most_size"]]
        best = min(fair, key=lambda result: result["ratio"], default=None)
        beside = f"{best['by']}: {best['ratio']:.2f}" if best is not None else ""
        if "limit" in sides:
            yield Line(f"{codec}, {way}", aim["share"], sides["limit"]["ratio"], beside)


def _connector(aim: dict[str, Any], report: dict[str, Any]) -> Iterator[Line]:
    for result in report["results"]:
        way = f"{result['action']} {result['columns'] or 'all'}"
        what, seconds = f"{result['codec']}, {way}", result["seconds"]
        if way in aim:
            yield Line(what, aim[way], result["ratio"])
        if way in aim["share"] and "ready" in seconds:
            pairs = zip(seconds["ready"], seconds["ours"], strict=True)
            share = statistics.median(ready / ours for ready, ours in pairs)
            yield Line(f"{what}: by the limit", aim["share"][way], share, f"connector: {result['ratio']:.2f}")
        if "export_ratio" in result:
            yield Line(f"{result['codec']}, export", aim["export"], result["export_ratio"])


LINES = {
    "connector": _connector,
    "limits": _limits,
    "java": _java,
    "two_threads": _two_threads,
    "aiokafka": _aiokafka,
    "build": _build,
    "streams": _streams,
}


def _kafka_protocol() -> list[str]:
    """The Rust crate's lines: no aim, for comparison."""
    path = RESULTS / "kafka-protocol.jsonl"
    if not path.exists():
        return []
    out = ["## The Rust crate kafka-protocol", "", "Its time by ours (`benches/kafka-protocol/src/main.rs`).", ""]
    out += ["| segment | read: Arrow | read: records | build | size |", "|---|---|---|---|---|"]
    for line in path.read_text().splitlines():
        found = json.loads(line)
        read, build = found["read_kafka_protocol"], found["build_kafka_protocol"]
        ratios = (read / found["read_arrow"], read / found["read_records"], build / found["build"])
        size = found["size"] / found["size_kafka_protocol"]
        name = Path(found["segment"]).parent.name
        out.append(f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} | {size:.3f} |")
    return [*out, ""]


def _criterion() -> list[str]:
    """What our framing and checks cost over the bare codec, where criterion has measured it."""
    medians: dict[tuple[str, str], dict[str, float]] = {}
    for path in sorted(CRITERION.glob("decode_*/*/*/new/estimates.json")):
        group, codec, side = path.parts[-5:-2]
        estimate = json.loads(path.read_text())["median"]["point_estimate"]
        medians.setdefault((group.removeprefix("decode_"), codec), {})[side] = estimate
    rows = [
        f"| {codec} | {size} | {sides['ours'] / sides['bare']:.2f} |"
        for (size, codec), sides in sorted(medians.items(), key=lambda item: (item[0][1], int(item[0][0])))
        if {"ours", "bare"} <= sides.keys()
    ]
    if not rows:
        return []
    head = "Our time by the library's own, into a buffer of the right size (`cargo bench --bench decode`)."
    return ["## Decoding beside the bare codec", "", head, "", "| codec | bytes | times |", "|---|---|---|", *rows, ""]


if __name__ == "__main__":
    main()
