"""Nothing that an agent can read holds the answer's own words: a whole evaluation of every task, by the expert."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.eval.episode.start import Starts
from simcluster.eval.proof.leaks import leaks, secret_words
from simcluster.eval.runner.execute import agent_for

STARTS = Starts(keep=2)


@pytest.mark.slow(first="wrong_service_selector_online_boutique")
@pytest.mark.parametrize("task_id", tasks.ids())
def test_an_evaluation_holds_no_word_of_the_answer(task_id: str) -> None:
    """At the page, in what the expert reads, and in all that is there once he has finished."""
    episode = STARTS.start(task_id, 3)
    assert leaks(episode.world, episode.task) == []
    agent_for("expert", episode).run(episode)
    read = "\n".join(turn.answer for turn in episode.transcript.turns).lower()
    assert [word for word in secret_words(episode.task) if word in read] == []
    episode.world.run_for(150 * SECOND)  # as long as grading lets pass
    assert leaks(episode.world, episode.task) == []
