"""Sets of incidents that nobody wrote: `fresh:SEED:N`, the same for the same seed, and none in it twice.

They are made before anything runs, in as many processes as there are to be, and written as task files, so that
whatever takes a task takes them.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import yaml

from simcluster.engine.content import Library
from simcluster.eval.generator.drawing import Member, member
from simcluster.tasks.model import Task

PREFIX = "fresh:"
#: The most incidents of a set: beyond it faults on components of one application come again.
MOST = 500


class Fresh(NamedTuple):
    """A set: its seed, and how many incidents it has."""

    seed: int
    size: int

    @classmethod
    def parse(cls, text: str) -> Fresh | None:
        """From `fresh:SEED:N`; None if it is no such name.

        Raises:
            ValueError: it is one, and wrong; tells the nearest that is right.

        >>> Fresh.parse("fresh:7:20"), Fresh.parse("lite")
        (Fresh(seed=7, size=20), None)
        """
        if not text.startswith(PREFIX):
            return None
        seed, colon, count = text.removeprefix(PREFIX).partition(":")
        if not (seed.isdigit() and colon and count.isdigit()):
            raise ValueError(f"write fresh:SEED:N, such as fresh:7:20, not {text!r}")
        if not 1 <= int(count) <= MOST:
            fits = min(max(int(count), 1), MOST)
            raise ValueError(f"{text}: a set has 1 to {MOST} incidents; the nearest that fits is fresh:{seed}:{fits}")
        return cls(int(seed), int(count))


def generated(wanted: Fresh, jobs: int = 1, library: Library | None = None) -> Iterator[Task]:
    """The incidents of a set, in order. A set of the same seed with more of them begins with the same.

    Raises:
        NotAnIncident: nothing that is drawn for one of them is noticed.
    """
    taken: list[str] = []
    for index, one in enumerate(_drawn(wanted, jobs, library)):
        found = one if one.key not in taken else member(wanted.seed, index, taken, library)
        taken.append(found.key)
        yield found.task


def _drawn(wanted: Fresh, jobs: int, library: Library | None) -> Iterator[Member]:
    """Each by itself, whatever the others are."""
    if min(jobs, wanted.size) <= 1:
        yield from (member(wanted.seed, index, (), library) for index in range(wanted.size))
        return
    with ProcessPoolExecutor(min(jobs, wanted.size), multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(member, wanted.seed, index, (), library) for index in range(wanted.size)]
        yield from (future.result() for future in futures)


def written(wanted: Fresh, folder: Path, jobs: int = 1, library: Library | None = None) -> list[str]:
    """Paths of task files of a set in a folder; those that are there already stay as they are. Raises NotAnIncident."""
    paths = [folder / f"fresh-{wanted.seed}-{index:03d}.yaml" for index in range(wanted.size)]
    if not all(path.is_file() for path in paths):
        folder.mkdir(parents=True, exist_ok=True)
        for path, task in zip(paths, generated(wanted, jobs, library), strict=True):
            path.write_text(text_of(task))
    return [str(path) for path in paths]


def text_of(task: Task) -> str:
    """A task as its file."""
    data = task.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude=set() if task.faultless else {"stated"}
    )
    return yaml.safe_dump({**data, "reference_fixes": data.get("reference_fixes", [])}, sort_keys=False, width=120)
