"""The validation as a table for people: Markdown, one line for each figure."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.eval.validation.finding import Finding
from simcluster.eval.validation.run import ROWS, Measured

SIGNS = {"both": "", "above": "≤ ", "below": "≥ "}


def markdown(measured: Sequence[Measured]) -> str:
    """A table of all figures, and what the rows are: source and tolerance of each."""
    engines = [engine for engine in ("exact", "aggregate") if any(one.engine == engine for one in measured)]
    lines = [
        "| row | figure | expected | " + " | ".join(engines) + " |",
        "|---|---|---|" + "---|" * len(engines),
    ]
    for name in ROWS:
        found = {one.engine: one.findings for one in measured if one.row == name}
        for quantity in dict.fromkeys(one.quantity for findings in found.values() for one in findings):
            cells = [_cell(found.get(engine, []), quantity) for engine in engines]
            first = next(one for findings in found.values() for one in findings if one.quantity == quantity)
            expected = f"{SIGNS[first.bound]}{first.expected:.4g}"
            lines.append(f"| {name} | {_safe(quantity)} | {expected} | " + " | ".join(cells) + " |")
    lines += ["", "| row | set-up | source | tolerance |", "|---|---|---|---|"]
    shown = {one.row for one in measured}
    lines += [
        f"| {name} | {_safe(row.title)} | {_safe(row.source)} | {_safe(row.tolerance)} |"
        for name, row in ROWS.items()
        if name in shown
    ]
    unmet = dict.fromkeys((one.row, one.quantity, one.engine, one.unmet) for row in measured for one in row.findings
                          if one.verdict == "not met")  # fmt: skip
    if unmet:
        lines += ["", "Not met, and why:", ""]
        lines += [f"- {row} on {engine}, {_safe(quantity)}: {_safe(why)}." for row, quantity, engine, why in unmet]
    return "\n".join(lines) + "\n"


def _cell(findings: Sequence[Finding], quantity: str) -> str:
    for one in findings:
        if one.quantity == quantity:
            half = f" ± {one.half:.2g}" if one.half else ""
            return f"{one.measured:.4g}{half}{'' if one.holds else f' **{one.verdict}**'} ({one.tolerance:.2g})"
    return "–"


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
