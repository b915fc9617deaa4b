"""Runs files in the language of Prometheus' own evaluation tests (`promql/promqltest`): load, eval, expect.

    python -m tests.telemetry.promql.conformance FILE...

prints what fails and counts. Native histograms, which are not kept here, are counted by themselves: cases that
expect one, or that read a series that has one.
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
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.storage import STALE_NAN, Labels, Matcher
from simcluster.telemetry.promql.syntax import selectors
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
    native: bool = False


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


class Stored(Memory):
    """Knows which series have native histograms."""

    def __init__(self) -> None:
        super().__init__()
        self.native: list[Labels] = []

    def touches(self, matchers: Sequence[Matcher]) -> bool:
        probe = Memory()
        for labels in self.native:
            probe.add(dict(labels), {0: 1.0})
        return bool(probe.select(matchers, 0, 0))


def load(store: Stored, gap: int, lines: Sequence[str]) -> None:
    for line in lines:
        found = _SERIES.match(_NATIVE.sub("H", line.strip()))
        assert found is not None, line
        labels = labels_of(found[1])
        if "{{" in line:
            store.native.append(labels)
        values = sequence(found[2].partition(" #")[0])
        store.add(dict(labels), {k * gap: v for k, v in enumerate(values) if v is not None})


def cases(path: Path) -> Iterator[tuple[Stored, Case]]:
    store = Stored()
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
        if line == "clear":
            store = Stored()
        elif line.startswith("load"):
            load(store, ms(line.split()[1]), block)
            if "nhcb" in line:
                store.native += [labels_of((_SERIES.match(_NATIVE.sub("H", one)) or [""])[1]) for one in block]
        else:
            found = _EVAL.match(line)
            assert found is not None, f"{path}:{head + 1}: {line}"
            times = (ms(found[2]),) * 2 + (0,) if found[2] else (ms(found[3]), ms(found[4]), ms(found[5]))
            yield store, Case(path.name, head + 1, found[1] or "", times, found[6], block)


def near(expected: float, got: float) -> bool:
    if np.isnan(expected) or np.isnan(got):
        return bool(np.isnan(expected) and np.isnan(got))
    return expected == got or abs(expected - got) <= EPSILON * min(abs(expected) + abs(got), 1.8e308)


def run(store: Stored, case: Case) -> str:
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
    start, _, step = case.times
    if ranged:
        start, step = ms(ranged[4]), ms(ranged[8])
    for line in results:
        found = _SERIES.match(_NATIVE.sub("H", line))
        assert found is not None
        values = list(sequence(found[2]))
        wanted.append((labels_of(found[1]), [(start + k * step, v) for k, v in enumerate(values) if v is not None]))
    have = [(one.labels, list(zip(one.times.tolist(), one.values.tolist(), strict=True))) for one in got.series]
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


def is_native(store: Stored, case: Case) -> bool:
    if any("{{" in line for line in case.expected):
        return True
    try:
        return any(store.touches(one.matchers) for one in selectors(parse(case.text)))
    except ParseError:
        return False


def judge(paths: Sequence[Path]) -> tuple[int, int, int, list[str]]:
    """Cases without native histograms, those with, how many of the latter pass, and what fails of the first."""
    plain = native = native_passed = 0
    failures = []
    for path in paths:
        for store, case in cases(path):
            why = run(store, case)
            if is_native(store, case):
                native += 1
                native_passed += not why
                continue
            plain += 1
            if why:
                failures.append(f"{case.file}:{case.line}: {case.text}: {why}")
    return plain, native, native_passed, failures


if __name__ == "__main__":
    counted, natives, passed, wrong = judge([Path(name) for name in sys.argv[1:]])
    print("\n".join(each[:400] for each in wrong))
    print(f"{counted - len(wrong)} of {counted} pass; of {natives} with native histograms {passed}")
