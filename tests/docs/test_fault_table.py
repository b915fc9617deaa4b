"""docs/FAULTS.md counts what there is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simcluster.faults import registry

PAGE = Path(__file__).parents[2] / "docs" / "FAULTS.md"
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"


def counted() -> str:
    specs = [registry.load(fault) for fault in registry.ids()]
    sheets = {name: mechanism.sheet for name, mechanism in registry.mechanisms().items()}
    layers: dict[str, Counter[str]] = {}
    for spec in specs:
        layers.setdefault(sheets[spec.mechanism].layer, Counter())[spec.cause] += 1
    lines = [f"{len(specs)} faults of {len(sheets)} mechanisms.", "", "| layer | faults | by family |", "|---|---|---|"]
    for layer, families in sorted(layers.items()):
        said = ", ".join(f"{family} {count}" for family, count in sorted(families.items()))
        lines.append(f"| {layer} | {families.total()} | {said} |")
    return "\n".join(lines) + "\n"


def test_the_page_of_faults_counts_what_there_is(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    was, _, tail = rest.partition(END)
    if request.config.getoption("--repin"):
        PAGE.write_text(f"{head}{BEGIN}{counted()}{END}{tail}", encoding="utf-8")
    else:
        assert was == counted(), "pytest --repin tests/docs/test_fault_table.py"
