"""The suite `srezero`: as many tasks as SRE-Zero has, each a task here whose cause derives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simcluster.eval.generator.srezero import Incidents, row_of, table, task_of
from simcluster.tasks.loader import load


def test_it_has_the_tasks_of_both_versions_by_level_and_split() -> None:
    assert Counter(row.level for row in table()) == {"easy": 11, "medium": 16, "hard": 13}
    assert Counter(row.split for row in table()) == {"train": 24, "dev": 8, "test": 8}
    assert Counter(row.level for row in Incidents(25).rows()) == {"easy": 7, "medium": 10, "hard": 8}


def test_every_row_is_a_task_with_a_cause_that_derives() -> None:
    for row in table():
        assert task_of(row).truth.component


def test_files_are_written_that_read_as_the_tasks(tmp_path: Path) -> None:
    paths = Incidents(25).written(tmp_path)
    assert len(paths) == 25
    read, made = load(paths[0]), task_of(row_of("cache_crash"))
    assert (read.id, read.ticket, read.accepted_when) == (made.id, made.ticket, made.accepted_when)


def test_a_wrong_size_names_the_right_ones() -> None:
    assert Incidents.parse("srezero") == Incidents(40)
    with pytest.raises(ValueError, match="those of the paper"):
        Incidents.parse("srezero:7")
