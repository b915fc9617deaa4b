"""No age, last change or field manager singles out what an incident is aimed at."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.eval.episode.start import start
from simcluster.eval.proof.ages import Ranked, alone, ranked, verdict
from simcluster.eval.worlds.bystanders import accompanied
from simcluster.eval.worlds.healthy import HEALTHY

AGED = [one for one in tasks.ids() if tasks.load(one).age != 0]


@pytest.mark.slow(sample=0)
def test_a_culprit_has_any_place_among_what_was_touched() -> None:
    """Over the whole catalogue: `pytest --whole tests/eval/proof/test_ages.py`."""
    episodes = [start(task_id) for task_id in AGED]
    rows = [row for episode in episodes for row in ranked(episode.fork())]
    for by in ("creation", "change"):
        found = verdict(row for row in rows if row.by == by)
        assert found.fair, (by, found)


def test_what_others_do_is_drawn_without_a_look_at_the_cause() -> None:
    """Its place in the order of all changes is any, the first and the last too: 600 draws of one incident."""
    task = tasks.load("wrong_service_selector_online_boutique")
    world = HEALTHY.of(task, 0)
    rows = []
    for seed in range(600):
        steps = accompanied(task, world, seed).incident
        others = [step.at for step in steps if step.drawn]
        cause = next(step.at for step in steps if not step.drawn)
        rows.append(Ranked("time", sum(at > cause for at in others), 1 + len(others)))  # integers
    found = verdict(rows)
    assert found.fair, found
    assert min(row.depth for row in rows) < 0.2
    assert max(row.depth for row in rows) > 0.8


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("task_id", AGED)
def test_a_cluster_has_lived_and_others_have_changed_something_in_its_last_hour(task_id: str) -> None:
    episode = start(task_id)
    assert tasks.load(task_id).age or episode.world.now > 20 * 86_400 * 10**9
    assert alone(episode.fork()) == []


@pytest.mark.parametrize(
    ("places", "fair"),
    [
        ([0, 1, 2, 3] * 10, True),
        ([0] * 40, False),  # always the youngest
        ([1, 2, 3, 2] * 10, False),  # never
        ([0, 3, 3, 3] * 10, False),  # as often as it should be, and else always the oldest
    ],
)
def test_what_chance_may_do(places: list[int], *, fair: bool) -> None:
    assert verdict(Ranked("creation", place, 4) for place in places).fair is fair
