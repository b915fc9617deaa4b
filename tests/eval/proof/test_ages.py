"""No age, last change or field manager singles out what an incident is aimed at."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.eval.episode.start import start
from simcluster.eval.proof.ages import Ranked, alone, ranked, verdict

AGED = [one for one in tasks.ids() if tasks.load(one).age != 0]


@pytest.mark.slow(sample=0)
def test_a_culprit_is_the_youngest_no_more_often_than_by_chance() -> None:
    """Over the whole catalogue: `pytest --whole tests/eval/proof/test_ages.py`."""
    episodes = [start(task_id) for task_id in AGED]
    rows = [row for episode in episodes for row in ranked(episode.fork())]
    for by in ("creation", "change"):
        first, expected, most = verdict(row for row in rows if row.by == by)
        assert first <= most, (by, first, expected)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("task_id", AGED)
def test_a_cluster_has_lived_and_others_have_changed_something_in_its_last_hour(task_id: str) -> None:
    episode = start(task_id)
    assert tasks.load(task_id).age or episode.world.now > 20 * 86_400 * 10**9
    assert alone(episode.fork()) == []


def test_what_chance_may_do() -> None:
    rows = [Ranked("creation", "Deployment/a", 2, culprit) for culprit in (True, False, True, False)]
    assert verdict(rows) == (2, 2.0, 4.0)
