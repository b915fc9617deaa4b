"""The suite `hard`: no usual look tells what was changed, and the rules of the runbook do not mend it."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.agents.runbook import Runbook
from simcluster.eval.episode.start import start
from simcluster.eval.proof.looks import revealed

HARD = tasks.suite("hard")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("task_id", HARD)
def test_no_usual_look_tells_what_was_changed(task_id: str) -> None:
    assert revealed(start(task_id)) == []


def test_a_rollout_a_young_object_and_a_ring_buffer_tell_what_was_changed() -> None:
    """The same looks on incidents that they do tell."""
    assert any("rollout history" in one for one in revealed(start("wrong_env_address_online_boutique")))
    assert any("dmesg" in one for one in revealed(start("latent_sector_errors_hotel_reservation")))


@pytest.mark.slow(sample=0)
def test_the_runbook_mends_at_most_a_tenth() -> None:
    mended = []
    for task_id in HARD:
        episode = start(task_id)
        Runbook().run(episode)
        mended += [task_id] if episode.examined().passed else []
    assert len(mended) * 10 <= len(HARD), mended
