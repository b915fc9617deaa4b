"""Pages that count what there is: `pytest --repin` writes their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import pytest

from simcluster import tasks
from simcluster.eval.report import scores
from simcluster.faults import registry
from simcluster.tasks.model import Task

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"


def of_faults() -> str:
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


def of_problems() -> str:
    """SREGym's problems: how many of each layer and family, and each by its names."""
    rows = []
    for task in (tasks.load(task_id) for task_id in tasks.suite("sregym")):
        rows.append((task.known_as["sregym"], task.id, _layer(task), task.truth.family))
    layers, families = ([*Counter(row[column] for row in rows).items()] for column in (2, 3))
    lines = [f"{len(rows)} problems.", "", "| layer | tasks | | family | tasks |", "|---|---|---|---|---|"]
    for layer, family in zip_longest(_by_count(layers), _by_count(families), fillvalue=("", "")):
        lines.append(f"| {layer[0]} | {layer[1]} | | {family[0]} | {family[1]} |")
    lines += ["", "| name in SREGym | task | layer | family |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in sorted(rows)]
    return "\n".join(lines) + "\n"


def of_scores() -> str:
    """What reference agents score, by suite and by task."""
    known = scores.measured()
    lines = scores.of_suites(known, tasks.suites())
    return (
        "\n".join(
            [*lines, "", *scores.of_tasks(known, max(known, key=lambda noise: sum(map(len, known[noise].values()))))]
        )
        + "\n"
    )


def _by_count(counted: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(counted, key=lambda one: (-one[1], one[0]))


def _layer(task: Task) -> str:
    """Of the first fault that is a cause."""
    fault = next(step.fault for step in task.incident if step.fault and not step.harmless)
    return registry.mechanisms()[registry.load(fault).mechanism].sheet.layer


@pytest.mark.parametrize(
    ("page", "counted"), [("FAULTS.md", of_faults), ("SREGYM.md", of_problems), ("SCORES.md", of_scores)]
)
def test_a_page_counts_what_there_is(page: str, counted: Callable[[], str], request: pytest.FixtureRequest) -> None:
    path = DOCS / page
    head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    was, _, tail = rest.partition(END)
    if request.config.getoption("--repin"):
        path.write_text(f"{head}{BEGIN}{counted()}{END}{tail}", encoding="utf-8")
    else:
        assert was == counted(), "pytest --repin tests/docs/test_counted_pages.py"
