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
#: Begins the first line of a task's file: what nobody should have to solve twice.
_KEY = "# "


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
    yield from (one.task for one in _members(wanted, list(range(wanted.size)), {}, jobs, library))


def _members(
    wanted: Fresh, numbers: list[int], known: dict[int, str], jobs: int, library: Library | None
) -> Iterator[Member]:
    """The members of these numbers, where the keys of some others are known; a key that came before is drawn again."""
    keys = dict(known)
    for index, one in zip(numbers, _drawn(wanted, numbers, jobs, library), strict=True):
        before = [key for other, key in keys.items() if other < index]
        found = one if one.key not in before else member(wanted.seed, index, before, library)
        keys[index] = found.key
        yield found


def _drawn(wanted: Fresh, numbers: list[int], jobs: int, library: Library | None) -> Iterator[Member]:
    """Each by itself, whatever the others are."""
    if min(jobs, len(numbers)) <= 1:
        yield from (member(wanted.seed, index, (), library) for index in numbers)
        return
    with ProcessPoolExecutor(min(jobs, len(numbers)), multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(member, wanted.seed, index, (), library) for index in numbers]
        yield from (future.result() for future in futures)


def written(wanted: Fresh, folder: Path, jobs: int = 1, library: Library | None = None) -> list[str]:
    """Paths of task files of a set in a folder; those that are there already stay as they are. Raises NotAnIncident."""
    paths = [folder / f"fresh-{wanted.seed}-{index:03d}.yaml" for index in range(wanted.size)]
    there = {index: path.read_text() for index, path in enumerate(paths) if path.is_file()}
    known = {index: text.partition("\n")[0].removeprefix(_KEY) for index, text in there.items()}
    missing = [index for index in range(wanted.size) if index not in there]
    folder.mkdir(parents=True, exist_ok=True)
    for index, one in zip(missing, _members(wanted, missing, known, jobs, library), strict=True):
        half = paths[index].with_suffix(".part")
        half.write_text(f"{_KEY}{one.key}\n{text_of(one.task)}")
        half.rename(paths[index])
    return [str(path) for path in paths]


def text_of(task: Task) -> str:
    """A task as its file."""
    data = task.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude=set() if task.faultless else {"stated"}
    )
    return yaml.safe_dump({**data, "reference_fixes": data.get("reference_fixes", [])}, sort_keys=False, width=120)
