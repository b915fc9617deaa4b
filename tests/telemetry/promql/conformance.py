"""Runs files in the language of Prometheus' own evaluation tests (`promql/promqltest`): load, eval, expect.

    python -m tests.telemetry.promql.conformance FILE...

prints what fails, and counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simcluster.telemetry.promql.context import Options, QueryError
from simcluster.telemetry.promql.evaluation import Result, query, query_range
from simcluster.telemetry.promql.native import CUSTOM, Native
from simcluster.telemetry.promql.storage import STALE_NAN, Labels
from simcluster.telemetry.promql.tokens import ParseError, duration_ms
from tests.telemetry.promql.memory import Memory

OPTIONS = Options(delayed_names=True)
EPSILON = 1e-6
_EVAL = re.compile(
    r"eval(?:_(fail|warn|info|ordered))?\s+(?:instant\s+at\s+(\S+)|range\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+))\s+(.*)$"
)
_SERIES = re.compile(r"^((?:[A-Za-z_:][\w:]*)?\s*(?:\{(?:[^\"'}]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')*\})?)\s*(.*)$")
_NATIVE = re.compile(r"\{\{.*?\}\}")
_LABEL = re.compile(r"\s*(?:([\w.]+|\"(?:[^\"\\]|\\.)*\")\s*=\s*)?(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\s*,?")
_STEP = re.compile(r"^(.+?)(?:([+-].+?))?x(\d+)$")


@dataclass
class Case:
    file: str
    line: int
    kind: str
    times: tuple[int, int, int]
    text: str
    expected: list[str] = field(default_factory=list)


def ms(word: str) -> int:
    sign = -1 if word.startswith("-") else 1
    word = word.lstrip("-+")
    return sign * (round(float(word) * 1000) if re.fullmatch(r"[\d.]+", word) else duration_ms(word))


def unquoted(text: str) -> str:
    return (
        bytes(text[1:-1], "utf-8").decode("unicode_escape").encode("latin-1").decode("utf-8")
        if "\\" in text
        else text[1:-1]
    )


def labels_of(text: str) -> Labels:
    name, _, inside = text.strip().partition("{")
    labels = {"__name__": name.strip()} if name.strip() else {}
    for key, value in _LABEL.findall(inside.rstrip("}")):
        key = unquoted(key) if key.startswith('"') else key
        labels[key or "__name__"] = unquoted(value)
    return tuple(sorted(labels.items()))


def number(text: str) -> float:
    return STALE_NAN if text == "stale" else float(text.lower().replace("_", ""))


def native(text: str) -> Native:
    """A histogram such as `{{schema:0 count:3 sum:4 buckets:[1 2]}}`."""
    fields: dict[str, list[float] | str] = {}
    for name, many, one in re.findall(r"(\w+):(?:\[([^\]]*)\]|(\S+))", text.strip("{}")):
        fields[name] = one if name == "counter_reset_hint" else [number(each) for each in (many or one).split()]

    def value(name: str, default: float) -> float:
        found = fields.get(name)
        return found[0] if isinstance(found, list) and found else default

    def side(prefix: str) -> dict[int, float]:
        found = fields.get(f"{prefix}buckets", [])
        assert isinstance(found, list)
        return {int(value(f"{prefix}offset", 0)) + index: count for index, count in enumerate(found)}

    bounds = fields.get("custom_values", [])
    assert isinstance(bounds, list)
    schema = int(value("schema", 0))
    hint = str(fields.get("counter_reset_hint", "")).replace("unknown", "")
    zero = value("z_bucket_w", 0.001 if schema != CUSTOM and "z_bucket" in fields else 0.0)
    counts = (value("z_bucket", 0), value("count", 0), value("sum", 0))
    return Native(schema, zero, *counts, side(""), side("n_"), tuple(bounds), hint)


def histograms(text: str) -> dict[int, Native]:
    """The histograms of a series by step."""
    found: dict[int, Native] = {}
    step = 0
    for word in re.findall(r"\{\{.*?\}\}(?:[+-]\{\{.*?\}\})?(?:x\d+)?|\S+", text):
        if not word.startswith("{{"):
            step += len(list(sequence(word)))
            continue
        parts = re.match(r"(\{\{.*?\}\})(?:([+-])(\{\{.*?\}\}))?(?:x(\d+))?$", word)
        assert parts is not None, word
        one = native(parts[1])
        for _ in range(int(parts[4] or 0) + 1):
            found[step] = one
            step += 1
            if parts[3]:
                one = one.plus(native(parts[3]), 1.0 if parts[2] == "+" else -1.0)
    return found


def sequence(text: str) -> Iterator[float | None]:
    """Values of a series by step; None where there is no sample, and for a native histogram."""
    for word in text.split():
        repeated = _STEP.match(word)
        if word == "_" or (word.startswith("_x")):
            yield from [None] * (int(word[2:]) if word.startswith("_x") else 1)
        elif word.startswith("H"):
            many = re.search(r"x(\d+)$", word)
            yield from [None] * (int(many[1]) + 1 if many else 1)
        elif word == "stale":
            yield STALE_NAN
        elif repeated:
            first, by = number(repeated[1]), number(repeated[2]) if repeated[2] else 0.0
            for k in range(int(repeated[3]) + 1):
                yield first + by * k if k else first
        else:
            yield number(word)


def _rest(line: str) -> str:
    """The series that a line begins with."""
    found = _SERIES.match(_NATIVE.sub("H", line.strip()))
    assert found is not None
    return found[1]


def load(store: Memory, gap: int, lines: Sequence[str]) -> None:
    for line in lines:
        found = _SERIES.match(_NATIVE.sub("H", line.strip()))
        assert found is not None, line
        labels = labels_of(found[1])
        if "{{" in line:
            timed = {k * gap: one for k, one in histograms(line.strip()[len(_rest(line)) :]).items()}
            store.natives.setdefault(labels, {}).update(timed)
        values = sequence(found[2].partition(" #")[0])
        store.add(dict(labels), {k * gap: v for k, v in enumerate(values) if v is not None})


def _with_custom_buckets(store: Memory) -> None:
    """Each classic histogram as a native one with custom buckets too."""
    found: dict[Labels, dict[int, dict[float, float]]] = {}
    for labels, samples in store.samples.items():
        named = dict(labels)
        if not named["__name__"].endswith("_bucket"):
            continue
        bound = float(named.pop("le"))
        named["__name__"] = named["__name__"].removesuffix("_bucket")
        for t, value in samples.items():
            found.setdefault(tuple(sorted(named.items())), {}).setdefault(t, {})[bound] = value
    for labels, by_time in found.items():
        for t, counts in by_time.items():
            bounds = sorted(counts)
            each = {k: counts[b] - (counts[bounds[k - 1]] if k else 0.0) for k, b in enumerate(bounds)}
            one = Native(CUSTOM, 0.0, 0.0, counts[bounds[-1]], 0.0, each, bounds=tuple(bounds[:-1]))
            store.natives.setdefault(labels, {})[t] = one
        store.samples.setdefault(labels, {})


def cases(path: Path, kind: type[Memory] = Memory) -> Iterator[tuple[Memory, Case]]:
    store = kind()
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        line, head = lines[at].strip(), at
        at += 1
        if not line or line.startswith("#"):
            continue
        block = []
        while at < len(lines) and lines[at].strip() and (lines[at][0] in " \t" or lines[at].startswith("#")):
            if not lines[at].strip().startswith("#"):
                block.append(lines[at].strip())
            at += 1
        if line.startswith("load_with_nhcb"):
            load(store, ms(line.split()[1]), block)
            _with_custom_buckets(store)
        elif line == "clear":
            store = kind()
        elif line.startswith("load"):
            load(store, ms(line.split()[1]), block)
        else:
            found = _EVAL.match(line)
            assert found is not None, f"{path}:{head + 1}: {line}"
            times = (ms(found[2]),) * 2 + (0,) if found[2] else (ms(found[3]), ms(found[4]), ms(found[5]))
            yield store, Case(path.name, head + 1, found[1] or "", times, found[6], block)


def near(expected: float, got: float) -> bool:
    if np.isnan(expected) or np.isnan(got):
        return bool(np.isnan(expected) and np.isnan(got))
    return expected == got or abs(expected - got) <= EPSILON * min(abs(expected) + abs(got), 1.8e308)


def run(store: Memory, case: Case) -> str:
    """Why a case fails, or an empty text."""
    start, end, step = case.times
    words = [line for line in case.expected if line.startswith(("expect", "expected_fail"))]
    results = [line for line in case.expected if line not in words]
    must_fail = case.kind == "fail" or any(re.match(r"expect\s+fail", line) for line in words)
    try:
        got = (
            query_range(store, case.text, start, end, step, OPTIONS)
            if step
            else query(store, case.text, start, OPTIONS)
        )
    except (ParseError, QueryError) as error:
        return "" if must_fail and _fits(words, "fail", [str(error)]) else f"failed: {error}"
    if must_fail:
        return "did not fail"
    for kind, notes in (("warn", got.warnings), ("info", got.infos)):
        if any(re.match(rf"expect\s+no_{kind}", line) for line in words) and notes:
            return f"notes: {notes}"
        if (case.kind == kind or any(re.match(rf"expect\s+{kind}", line) for line in words)) and not notes:
            return f"no {kind}"
        if not _fits(words, kind, [re.sub(r" \(\d+:\d+\)$", "", note) for note in notes] + notes):
            return f"notes: {notes}"
    ordered = case.kind == "ordered" or "expect ordered" in words
    return _differs(got, results, words, case, ordered)


def _fits(words: Sequence[str], kind: str, texts: Sequence[str]) -> bool:
    for line in words:
        found = re.match(rf"expect(?:ed)?[\s_]+{kind}(?:\s+|_)(msg|message|regex|regexp):?\s*(.*)$", line)
        if found and not any(
            found[2] in text if found[1].startswith("msg") or found[1] == "message" else re.search(found[2], text)
            for text in texts
        ):
            return False
    return True


def _differs(got: Result, results: Sequence[str], words: Sequence[str], case: Case, ordered: bool) -> str:
    string = next((line for line in words if line.startswith("expect string")), None)
    if string is not None:
        text = string.removeprefix("expect string").strip()
        return "" if got.text == (text[1:-1] if text[0] == "`" else unquoted(text)) else f"got {got.text!r}"
    ranged = next((line.split() for line in words if line.startswith("expect range vector")), None)
    if got.kind == "scalar":
        return (
            ""
            if results and near(number(results[0]), float(got.series[0].values[0]))
            else f"got {got.series[0].values}"
        )
    wanted: list[tuple[Labels, list[tuple[int, float]]]] = []
    histogram: list[tuple[Labels, dict[int, Native]]] = []
    start, _, step = case.times
    if ranged:
        start, step = ms(ranged[4]), ms(ranged[8])
    for line in results:
        found = _SERIES.match(_NATIVE.sub("H", line))
        assert found is not None
        values = list(sequence(found[2]))
        timed = {start + k * step: one for k, one in histograms(line[len(_rest(line)) :]).items()}
        histogram.append((labels_of(found[1]), timed))
        wanted.append((labels_of(found[1]), [(start + k * step, v) for k, v in enumerate(values) if v is not None]))
    have = [(one.labels, list(zip(one.times.tolist(), one.values.tolist(), strict=True))) for one in got.series]
    theirs = [(one.labels, dict(one.natives)) for one in got.series]
    if not _same_natives(dict(histogram), dict(theirs)):
        return f"got {theirs}"
    if not ordered:
        wanted.sort(key=lambda each: each[0])
        have.sort(key=lambda each: each[0])
    if [labels for labels, _ in wanted] != [labels for labels, _ in have]:
        return f"got {have}"
    for (_, expected), (_, samples) in zip(wanted, have, strict=True):
        if [t for t, _ in expected] != [t for t, _ in samples]:
            return f"got {have}"
        if not all(near(a, b) for (_, a), (_, b) in zip(expected, samples, strict=True)):
            return f"got {have}"
    return ""


def _same_natives(expected: dict[Labels, dict[int, Native]], got: dict[Labels, dict[int, Native]]) -> bool:
    for labels in {**expected, **got}:
        mine, theirs = expected.get(labels, {}), got.get(labels, {})
        if mine.keys() != theirs.keys() or not all(_close(mine[t], theirs[t]) for t in mine):
            return False
    return True


def _close(a: Native, b: Native) -> bool:
    def numbers(one: Native) -> list[float]:
        return [one.zero_count, one.count, one.sum, *(count for _, _, count in one.buckets())]

    places = [{index for index, count in side.items() if count} for side in (a.positive, a.negative)]
    others = [{index for index, count in side.items() if count} for side in (b.positive, b.negative)]
    alike = a.schema == b.schema and a.bounds == b.bounds and places == others
    return alike and len(numbers(a)) == len(numbers(b)) and all(map(near, numbers(a), numbers(b)))


def judge(paths: Sequence[Path], kind: type[Memory] = Memory) -> tuple[int, list[str]]:
    """How many cases there are, and what fails; `kind` of the store."""
    counted, failures = 0, []
    for path in paths:
        for store, case in cases(path, kind):
            counted += 1
            why = run(store, case)
            if why:
                failures.append(f"{case.file}:{case.line}: {case.text}: {why}")
    return counted, failures


if __name__ == "__main__":
    number_of_cases, wrong = judge([Path(name) for name in sys.argv[1:]])
    print("\n".join(each[:400] for each in wrong))
    print(f"{number_of_cases - len(wrong)} of {number_of_cases} pass")
