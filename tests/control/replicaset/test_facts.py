"""What a ReplicaSet knows of its pods is counted anew only where a pod has changed, to the same counts."""

from __future__ import annotations

import random

from simcluster.api.objects import ApiObject, Json
from simcluster.control.replicaset.facts import FactsByPod

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
    draw = random.Random(3)
    facts, pods = FactsByPod(), [pod(n, draw) for n in range(12)]
    for step in range(200):
        change = draw.random()
        if change < 0.7:
            number = draw.randrange(len(pods))
            pods[number] = pod(int(pods[number]["metadata"]["uid"][1:]), draw)
        elif change < 0.85 and len(pods) > 3:
            del pods[draw.randrange(len(pods))]
        else:
            pods.append(pod(100 + step, draw))
        known, fresh = facts.of_all(SET, list(pods)), FactsByPod().of_all(SET, list(pods))
        assert known.facts == fresh.facts
        assert (known.others, known.labelled, known.ready) == (fresh.others, fresh.labelled, fresh.ready)
        assert known.ready == sum(entry.ready for entry in known.facts)
        assert known.others == sum(not (entry.mine and entry.selected) for entry in known.facts)
