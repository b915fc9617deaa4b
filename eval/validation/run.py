"""The rows of the validation, and how they are run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from simcluster.engine.content import UnknownName
from simcluster.eval.validation import clients, loops, queues, storms
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Finding
from simcluster.eval.validation.row import Row

#: Every row, in the order of the table in `docs/TRAFFIC.md`.
ROWS: dict[str, Row] = {**queues.ROWS, **storms.ROWS, **clients.ROWS, **loops.ROWS}


def validate(
    names: Sequence[str] = (), engines: Sequence[str] = ("exact",), *, quick: bool = False, jobs: int = 1
) -> Iterator[tuple[str, list[Finding]]]:
    """Run rows; yields the findings of each, in the order of the table.

    Args:
        names: rows; empty is all.
        engines: on which engines, where a row applies to them.
        quick: smaller samples.
        jobs: processes.

    Raises:
        UnknownName: there is no such row.
    """
    for name in names:
        if name not in ROWS:
            raise UnknownName("row", name, tuple(ROWS))
    wanted = [name for name in ROWS if not names or name in names]
    work = [(name, engine, quick) for name in wanted for engine in engines if engine in ROWS[name].engines]
    if jobs <= 1:
        for one in work:
            yield one[0], measure(one)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from zip((name for name, _, _ in work), pool.map(measure, work), strict=True)


def measure(work: tuple[str, str, bool]) -> list[Finding]:
    """The findings of one row on one engine."""
    name, engine, quick = work
    context = Context(name, engine, quick, [])
    ROWS[name].measure(context)
    return context.findings
