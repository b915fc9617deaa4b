"""The text format of Prometheus (version 0.0.4), as Go's client library writes it: sorted by name."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.telemetry.metrics.columns import Labels, Samples

_INFINITY = float("inf")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Family(NamedTuple):
    """All samples of one metric.

    Attributes:
        kind: counter or gauge.
        samples: pairs of labels (name, value) and number.
        parts: suffix of the name of each sample, where there are such (`_bucket`).
    """

    name: str
    kind: str
    text: str
    samples: tuple[tuple[tuple[tuple[str, str], ...], int | float], ...]
    parts: tuple[str, ...] = ()


def text(families: Iterable[Family]) -> str:
    """The families that have samples, sorted by name."""
    return "".join(_family(one) for one in sorted(families, key=lambda one: one.name) if one.samples)


def families_of(samples: Samples) -> list[Family]:
    """Samples of a scrape by family, as text shows them."""
    found: dict[str, tuple[str, str, list[tuple[str, Labels, float]]]] = {}
    for group, row in samples.items():
        numbers = iter(array("d", row))
        for metric in group.columns.families:
            _, _, shown = found.setdefault(metric.name, (metric.kind, metric.text, []))
            for suffix, own in metric.series:
                shown.append((suffix, tuple(sorted((*group.labels, *own))), next(numbers)))
    return [
        Family(name, kind, text, tuple((own, value) for _, own, value in shown), tuple(one[0] for one in shown))
        for name, (kind, text, shown) in found.items()
    ]


def seconds(duration_ns: int) -> float:
    """Nanoseconds as the seconds of a metric."""
    return duration_ns / 1_000_000_000


def instant(t_ns: int) -> float:
    """A simulated instant as the Unix time of a metric."""
    return unix_seconds(t_ns) + seconds(t_ns % SECOND)


def _family(one: Family) -> str:
    lines = [f"# HELP {one.name} {one.text}\n", f"# TYPE {one.name} {one.kind}\n"]
    # A histogram's series keep their order: buckets, sum, count.
    rows = sorted(one.samples) if one.kind != "histogram" else one.samples
    for (labels, value), part in zip(rows, one.parts or [""] * len(rows), strict=True):
        lines.append(sample(one.name + (part if one.kind == "histogram" else ""), labels, value))
    return "".join(lines)


def sample(name: str, labels: Iterable[tuple[str, str]], value: float, ms: int | None = None) -> str:
    """The line of one sample, with the milliseconds of its instant if it says when it was."""
    shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    when = "" if ms is None else f" {ms}"
    return f"{name}{{{shown}}} {_number(value)}{when}\n" if shown else f"{name} {_number(value)}{when}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: int | float) -> str:
    """As Go's strconv prints a float64 (format g, shortest).

    >>> _number(1732000000), _number(0.25), _number(7), _number(1772442001.5)
    ('1.732e+09', '0.25', '7', '1.7724420015e+09')
    """
    if value != value or value in (_INFINITY, -_INFINITY):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = len(digits) + exponent - 1
    if -5 < power < 6:
        return str(int(value)) if value == int(value) else repr(float(value))
    text = "".join(map(str, digits))
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
