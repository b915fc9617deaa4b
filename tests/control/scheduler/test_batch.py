"""Pods of one kind are placed from kept columns as they would be if every plugin were asked every time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcluster.api.objects import ApiObject
from simcluster.api.store import Store
from simcluster.control.scheduler import search
from simcluster.control.scheduler.batch import signature
from simcluster.control.scheduler.cache import NodeCache
from simcluster.control.scheduler.framework import Cycle
from simcluster.control.scheduler.nodeinfo import PodInfo
from simcluster.control.scheduler.plugins import REGISTRY
from simcluster.control.scheduler.search import Search
from simcluster.engine import Simulation
from tests.clusters.controlplane import node_object, pod_object

nodes = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.sampled_from(("1", "2", "4")),
            "tainted": st.booleans(),
            "zone": st.sampled_from(("", "a", "b")),
            "image": st.sampled_from((0, 50_000_000, 900_000_000)),
        }
    ),
    min_size=1,
    max_size=8,
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("place"), st.sampled_from(("", "100m", "700m")), st.sampled_from(("a", "b"))),
        st.tuples(st.just("end"), st.integers(0, 7), st.just("")),
        st.tuples(st.just("cordon"), st.integers(0, 7), st.just("")),
    ),
    max_size=30,
)


def _node(number: int, facts: dict[str, Any]) -> ApiObject:
    node = node_object(f"n{number}", cpu=facts["cpu"])
    if facts["zone"]:
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = facts["zone"]
    if facts["tainted"]:
        node["spec"]["taints"] = [{"key": "t", "effect": "NoSchedule"}]
    if facts["image"]:
        node["status"]["images"] = [{"names": ["web:1"], "sizeBytes": facts["image"]}]
    return ApiObject(node)


def _pod(number: int, cpu: str, owner: str) -> ApiObject:
    pod = pod_object(f"p{number}", cpu=cpu)
    pod["metadata"]["uid"] = f"p{number}"
    pod["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
    pod["spec"]["containers"][0]["image"] = "web:1"
    return ApiObject(pod)


def _placed(given_nodes: list[dict[str, Any]], taken: list[tuple[str, Any, str]]) -> list[str]:
    """Where the pods go, one after the other."""
    sim, cache = Simulation(0), NodeCache()
    store, finder = Store(sim), Search([kind() for kind in REGISTRY.values()], sim.stream("ties"))
    for number, facts in enumerate(given_nodes):
        cache.set_node(_node(number, facts))
    found, living = [], []
    for number, (what, value, owner) in enumerate(taken):
        if what == "end" and living:
            cache.remove_pod(living.pop(value % len(living)))
        elif what == "cordon":
            index = value % len(given_nodes)
            node = _node(index, given_nodes[index])
            cache.set_node(ApiObject({**node, "spec": {**node["spec"], "unschedulable": True}}))
        elif what == "place":
            cycle = Cycle(PodInfo(_pod(number, value, owner)), cache, store)
            rows = finder.find(cycle).rows
            found.append("")
            if len(rows):
                found[-1] = finder.select(cycle, rows).name
                cache.assume(cycle.info, found[-1])
                living.append(cycle.info.key)
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(nodes, steps)
def test_decisions_are_those_of_a_full_search(
    given_nodes: list[dict[str, Any]], taken: list[tuple[str, Any, str]]
) -> None:
    kept = _placed(given_nodes, taken)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "batch_of", lambda cycle, table: None)
        assert _placed(given_nodes, taken) == kept


def test_who_is_searched_for_in_full() -> None:
    plain = _pod(1, "100m", "a")
    assert signature(PodInfo(plain)) == signature(PodInfo(_pod(2, "100m", "b")))
    assert signature(PodInfo(plain)) != signature(PodInfo(_pod(2, "200m", "a")))
    for part in (
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
        {"affinity": {"podAffinity": {}}},
        {"topologySpreadConstraints": [{"maxSkew": 1}]},
    ):
        assert not signature(PodInfo(ApiObject({**plain, "spec": {**plain["spec"], **part}})))
    alone = {key: value for key, value in plain["metadata"].items() if key != "ownerReferences"}
    assert not signature(PodInfo(ApiObject({**plain, "metadata": alone})))
