"""The rows of the validation, and how they are run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from simcluster.engine.content import UnknownName
from simcluster.eval.validation import cfs, clients, disks, loops, mechanisms, queues, storms, timing
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.finding import Finding
from simcluster.eval.validation.row import Row

#: Every row, in the order of the table in `docs/TRAFFIC.md`.
_ROOMS = (queues, storms, clients, loops, mechanisms, disks, timing, cfs)
ROWS: dict[str, Row] = {name: row for room in _ROOMS for name, row in room.ROWS.items()}
#: Those that take longest; several processes begin with them, so that none is left alone with one at the end.
_LONGEST = ("R7", "R9", "R3", "R11", "R5", "R4", "G1", "R6", "R1", "R8")


@dataclass(frozen=True)
class Measured:
    """One row on one engine.

    Attributes:
        findings: its figures.
        seconds: real time it took.
    """

    row: str
    engine: str
    findings: list[Finding]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no figure fails; those that the model is known not to give do not."""
        return all(one.verdict != "fails" for one in self.findings)


def validate(
    names: Sequence[str] = (), engines: Sequence[str] = ("exact",), *, quick: bool = False, jobs: int = 1
) -> Iterator[Measured]:
    """Run rows; yields each as soon as it is done (with one job: in the order of the table).

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
            yield measure(one)
        return
    work.sort(key=lambda one: one[0] not in _LONGEST)
    with ProcessPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(measure, one) for one in work]):
            yield done.result()


def measure(work: tuple[str, str, bool]) -> Measured:
    """One row on one engine."""
    name, engine, quick = work
    begin = time.perf_counter()
    context = Context(name, engine, quick, [])
    ROWS[name].measure(context)
    return Measured(name, engine, context.findings, time.perf_counter() - begin)
