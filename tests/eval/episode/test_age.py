"""An episode in a cluster that has lived."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.engine import MINUTE, parse_rfc3339
from simcluster.engine.clock import DAY
from simcluster.eval.episode import start
from simcluster.eval.episode.replay import begun

TASK = "wrong_service_selector_online_boutique"


def test_the_page_of_an_old_cluster() -> None:
    """Several innocent changes precede the page, and a log leads to the same cluster again."""
    episode = start(TASK, seed=2, age="74d")
    world, task = episode.world, episode.task
    assert task.age == 74 * DAY
    assert "HTTPProbeFailure boutique/frontend since 2026-05-15T09:0" in episode.alert
    hands = {
        entry["manager"]
        for each in world.api.store.objects("deployments.apps", task.namespace)
        for entry in each["metadata"]["managedFields"]
        if entry["manager"] != "kube-controller-manager"
        and world.now - DAY / 2 < parse_rfc3339(entry["time"]) < world.now - 5 * MINUTE
    }
    assert len(hands) >= 2
    header = episode.log_header()
    assert begun(header).digest == episode.digest


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="12h to 300d old"):
        start(TASK, age="2h")
    with pytest.raises(ValueError, match="12h to 300d old"):
        tasks.Task.model_validate({**tasks.load(TASK).model_dump(by_alias=True), "age": "1h"})
