"""What a ReplicaSet knows of its pods is counted anew only where a pod has changed, to the same counts."""

from __future__ import annotations

import random

from simcluster.api.objects import ApiObject, Json
from simcluster.api.store import Store
from simcluster.control.replicaset.facts import FactsByPod, Known
from simcluster.engine import Simulation

SET = ApiObject(
    {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": "rs", "generation": 1},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web", "tier": "front"}}},
        },
    }
)


def pod(number: int, draw: random.Random) -> ApiObject:
    labels = {"app": draw.choice(["web", "web", "web", "other"]), "tier": draw.choice(["front", "back"])}
    status: Json = {"phase": draw.choice(["Running", "Running", "Failed"])}
    status["conditions"] = [{"type": "Ready", "status": draw.choice(["True", "False"])}]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    metadata = {"name": f"web-{number}", "namespace": "shop", "uid": f"p{number}", "labels": labels}
    return ApiObject({"metadata": {**metadata, "ownerReferences": [owner]}, "spec": {}, "status": status})


def test_counts_are_those_of_a_fresh_look() -> None:
    draw, sim = random.Random(3), Simulation(0)
    store = Store(sim)
    facts, names = FactsByPod(sim, store), list(range(12))
    for name in names:
        store.put("pods", dict(pod(name, draw)))
    for step in range(200):
        change = draw.random()
        if change < 0.7:
            store.put("pods", dict(pod(draw.choice(names), draw)))
        elif change < 0.85 and len(names) > 3:
            store.remove("pods", "shop", f"web-{names.pop(draw.randrange(len(names)))}")
        else:
            names.append(100 + step)
            store.put("pods", dict(pod(100 + step, draw)))
        if draw.random() < 0.3:
            continue  # several changes between two looks
        known, fresh = facts.of(SET), Known(SET, store.pods_of("rs"))
        assert known.in_order() == fresh.in_order()
        assert (known.others, known.labelled, known.ready) == (fresh.others, fresh.labelled, fresh.ready)
        assert known.ready == sum(entry.ready for entry in known.in_order())
        assert known.others == sum(not (entry.mine and entry.selected) for entry in known.in_order())


def test_a_pod_that_was_given_away_is_forgotten() -> None:
    draw, sim = random.Random(4), Simulation(0)
    store = Store(sim)
    facts = FactsByPod(sim, store)
    mine = store.put("pods", dict(pod(1, draw)))
    assert len(facts.of(SET).by_key) == 1
    metadata = {key: value for key, value in mine["metadata"].items() if key != "ownerReferences"}
    store.put("pods", {**mine, "metadata": metadata})
    assert not facts.of(SET).by_key
