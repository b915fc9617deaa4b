"""All nodes at once and node by node: the same verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simcluster.api.objects import ApiObject
from simcluster.api.store import Store
from simcluster.control.scheduler.cache import NodeCache
from simcluster.control.scheduler.framework import Cycle, Plugin
from simcluster.control.scheduler.nodeinfo import PodInfo
from simcluster.control.scheduler.plugins import REGISTRY
from simcluster.control.scheduler.search import Search
from simcluster.engine import Simulation
from tests.clusters.controlplane import node_object, pod_object

nodes = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(("1", "2", "4")),
        "taint": st.sampled_from(("", "NoSchedule", "PreferNoSchedule")),
        "zone": st.sampled_from(("", "a", "b")),
        "unschedulable": st.booleans(),
        "pods": st.lists(st.sampled_from(("100m", "700m", "")), max_size=4),
    }
)
wishes = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(("", "300m", "1500m")),
        "zone": st.sampled_from(("", "a")),
        "tolerates": st.booleans(),
    }
)


def _pod(name: str, cpu: str, node: str = "", **spec: Any) -> ApiObject:
    body = pod_object(name, cpu=cpu, **spec)
    body["metadata"]["uid"] = name
    body["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]
    if node:
        body["spec"]["nodeName"] = node
    return ApiObject(body)


def _cache(given_nodes: list[dict[str, Any]]) -> NodeCache:
    cache = NodeCache()
    for number, facts in enumerate(given_nodes):
        node = node_object(f"n{number:02}", cpu=facts["cpu"])
        if facts["zone"]:
            node["metadata"]["labels"]["topology.kubernetes.io/zone"] = facts["zone"]
        node["spec"]["unschedulable"] = facts["unschedulable"]
        if facts["taint"]:
            node["spec"]["taints"] = [{"key": "t", "effect": facts["taint"]}]
        cache.set_node(ApiObject(node))
        assert cache.table.row[f"n{number:02}"] == number  # what follows changes the table row by row
    for number, facts in enumerate(given_nodes):
        for place, cpu in enumerate(facts["pods"]):
            cache.set_pod(_pod(f"p{number}-{place}", cpu, f"n{number:02}"))
    return cache


@settings(max_examples=60, deadline=None, derandomize=True)
@given(given_nodes=st.lists(nodes, min_size=1, max_size=9), wish=wishes)
def test_columns_agree_with_loops(given_nodes: list[dict[str, Any]], wish: dict[str, Any]) -> None:
    cache = _cache(given_nodes)
    sim = Simulation(1)
    spec: dict[str, Any] = {}
    if wish["zone"]:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": wish["zone"]}
    if wish["tolerates"]:
        spec["tolerations"] = [{"key": "t", "operator": "Exists"}]
    cycle = Cycle(PodInfo(_pod("new", wish["cpu"], **spec)), cache, Store(sim))
    search = Search([plugin() for plugin in REGISTRY.values()], sim.stream("ties"))
    assert search.prepare(cycle) is None
    feasible = [row for row, node in enumerate(cache.nodes) if search.check(cycle, node) is None]
    found = search.find(cycle)
    assert sorted(found.rows) == feasible
    assert set(found.refused) == (set() if feasible else {node.name for node in cache.nodes})
    if not feasible:
        return
    best = search.select(cycle, found.rows)
    assert cache.table.row[best.name] in feasible
    fresh = _cache(given_nodes)
    fresh._table = None
    again = Cycle(cycle.info, fresh, cycle.store)
    search.prepare(again)
    for plugin in search.plugins:
        rows = [*found.rows]
        one = plugin.scores_of(cycle, cache.table, _rows(rows))
        other = plugin.scores_of(again, fresh.table, _rows(rows))
        assert (one is None) == (other is None)
        assert one is None or one.tolist() == other.tolist()
        if one is not None:
            assert all(0 <= score <= 100 for score in one.tolist()), plugin.name


def _rows(rows: list[int]) -> Any:
    return np.array(rows, dtype=np.intp)


def test_every_plugin_has_its_own_name() -> None:
    assert all(name == kind.name and issubclass(kind, Plugin) for name, kind in REGISTRY.items())


def test_what_waits_in_a_fork_is_not_bound_elsewhere() -> None:
    cache = _cache([{"cpu": "4", "zone": "", "unschedulable": False, "taint": "", "pods": []}])
    waiting = PodInfo(_pod("new", "100m"))  # forks share it
    cache.assume(waiting, "n00")
    cache.set_pod(_pod("new", "100m", "n00"))
    bound = cache.pod(waiting.key)
    assert bound is not None
    assert bound.pod["spec"]["nodeName"] == "n00"
    assert "nodeName" not in waiting.pod["spec"]
