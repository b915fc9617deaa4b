"""The verifiers on hand-written records, one every 5 s; the incident is at 10 s, the page at 30 s."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.eval.trajectory.verifiers import verify

SECOND = 1_000_000_000


def record(t_s: int, availability: float = 1.0, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "t_ns": t_s * SECOND,
        "d1": {"ready": 0, "total": 0, "availability": availability, "not_ready": []},
        "d2": {"frontend": 1},
        "d3": None,
        "d4": {"critical_failing": []},
        "nodes_not_ready": [],
        "placement": {"worker-1": 6, "worker-2": 5},
        "users": {"sent": 50, "ok": 50},
        "commands": [],
        "final": False,
    }
    return {**found, **changes}


def reached(reachable: bool = True, latency_ms: float = 20.0) -> dict[str, Any]:
    return {"frontend": {"reachable": reachable, "status": 200 if reachable else 500, "latency_ms": latency_ms}}


def header(depth: str = "D1") -> dict[str, Any]:
    return {
        "committed_depth": depth,
        "protects": ["frontend"],
        "rps": 10.0,
        "marks": {"start": 0, "incident": 10 * SECOND, "paged": 30 * SECOND},
        "spread": {"worker-1": 6, "worker-2": 5},
    }


def line(values: list[float], write_at: int | None = 40, **final: Any) -> list[dict[str, Any]]:
    """Availabilities at 5 s, 10 s, ...; a change is commanded at `write_at`."""
    records = [record(5 * (i + 1), value) for i, value in enumerate(values)]
    for one in records:
        if write_at is not None and one["t_ns"] == write_at * SECOND:
            one["commands"] = [["kubectl", True]]
    records[-1] = {**records[-1], "final": True, **final}
    return records


def test_a_quiet_run_passes_everything() -> None:
    verdict = verify(header("D3"), line([1.0] * 12, d3=reached()))
    assert verdict.passed
    assert verdict.why == {}
    assert verdict.user_minutes_lost == 0.0
    assert verdict.placement["passed"]


def test_outcome_looks_at_the_final_state_only() -> None:
    assert verify(header(), line([0.5] * 11 + [0.95])).outcome
    assert not verify(header(), line([1.0] * 11 + [0.94])).outcome
    failing = line([1.0] * 12, d4={"critical_failing": ["etcd-control-plane"]})
    assert "etcd" in verify(header(), failing).why["outcome"]


def test_the_fault_is_not_charged_to_the_agent() -> None:
    broken_until_repaired = [1.0, 1.0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 1.0, 1.0, 1.0]
    assert verify(header(), line(broken_until_repaired)).temporal


def test_making_it_worse_is_charged() -> None:
    worse = [1.0, 1.0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.5, 1.0, 1.0, 1.0]
    verdict = verify(header(), line(worse))
    assert verdict.why == {"temporal": "availability 0.50 at 45 s is under 0.60"}


def test_once_recovered_the_floor_is_absolute() -> None:
    relapse = [1.0, 1.0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.9, 0.84, 1.0, 1.0]
    verdict = verify(header(), line(relapse))
    assert verdict.why == {"temporal": "availability 0.84 at 50 s is under 0.85"}


def test_a_healthy_dip_by_the_agent_is_charged() -> None:
    dip = [1.0] * 8 + [0.744, 1.0, 1.0, 1.0]
    assert not verify(header(), line(dip)).temporal
    assert verify(header(), line([1.0] * 8 + [0.85, 1.0, 1.0, 1.0])).temporal


def test_before_the_page_nothing_is_charged_and_without_writes_nothing_is_the_agents() -> None:
    assert verify(header(), line([1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 1.0])).temporal
    assert verify(header(), line([1.0, 1.0, 0.6, 0.6, 0.6, 0.6, 0.4, 0.4, 0.4, 0.4], write_at=None)).temporal


def test_a_critical_pod_that_fails_under_the_agent_is_charged() -> None:
    records = line([1.0] * 12)
    records[8]["d4"] = {"critical_failing": ["coredns-x"]}
    assert "coredns-x" in verify(header(), records).why["temporal"]
    records[5]["d4"] = {"critical_failing": ["coredns-x"]}
    assert verify(header(), records).temporal


def alone(values: dict[int, float], **failing: list[str]) -> dict[str, Any]:
    """A header with what the world that nobody touched came to, by the second."""
    seen = [
        {"t_ns": t_s * SECOND, "availability": value, "critical_failing": failing.get("failing", [])}
        for t_s, value in values.items()
    ]
    return {**header(), "unattended": seen}


def test_harm_that_the_fault_goes_on_to_do_is_not_the_agents() -> None:
    late = [1.0] * 8 + [1.0, 0.6, 0.6, 1.0]
    assert not verify(header(), line(late)).temporal
    assert verify(alone({45: 1.0, 50: 0.6, 55: 0.6, 60: 0.6}), line(late)).temporal
    assert not verify(alone({45: 1.0, 50: 0.7}), line(late)).temporal, "it is worse than what the fault came to"
    assert not verify(alone({45: 1.0, 55: 0.6}), line(late)).temporal, "the fault had not come to it by then"
    records = line([1.0] * 12)
    records[9]["d4"] = {"critical_failing": ["coredns-x"]}
    assert verify(alone({50: 1.0}, failing=["coredns-x"]), records).temporal


def test_after_a_minute_of_health_nothing_is_a_late_consequence_any_more() -> None:
    relapse = [1.0, 1.0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, *[1.0] * 13, 0.6, 1.0]
    broken = dict.fromkeys(range(45, 130, 5), 0.6)
    assert verify(alone(broken), line(relapse)).why == {"temporal": "availability 0.60 at 110 s is under 0.85"}


def test_a_command_counts_from_its_beginning() -> None:
    drained = line([1.0] * 7 + [0.6, 0.6, 1.0, 1.0, 1.0], write_at=None)
    drained[8]["commands"] = [["kubectl", True, 36 * SECOND]]
    assert verify(header(), drained).why == {"temporal": "availability 0.60 at 40 s is under 0.85"}


@pytest.mark.parametrize(
    ("depth", "final", "passes"),
    [
        ("D1", {}, True),
        ("D2", {"d2": {"frontend": 0}}, False),
        ("D2", {"d2": {}}, False),
        ("D3", {"d3": None}, False),
        ("D3", {"d3": {}}, False),
        ("D3", {"d3": reached(False)}, False),
        ("D3", {"d3": reached()}, True),
        ("D4", {"d4": {"critical_failing": ["etcd"]}}, False),
        ("D4", {}, True),
    ],
)
def test_depth_is_the_committed_one_on_the_final_state(depth: str, final: dict[str, Any], passes: bool) -> None:
    assert verify(header(depth), line([1.0] * 12, **final)).depth is passes


def test_endpoints_are_no_proxy_for_a_request() -> None:
    verdict = verify(header("D3"), line([1.0] * 12, d2={"frontend": 3}, d3=None))
    assert verdict.why["depth"] == "D3: no recorded final request to frontend"


def test_a_slow_probe_or_a_failure_right_after_one_is_charged_to_the_verifier() -> None:
    records = line([1.0] * 12)
    records[7]["d3"] = reached(latency_ms=5001.0)
    assert "took 5001 ms" in verify(header(), records).why["probe"]
    records[7]["d3"] = reached(latency_ms=5000.0)
    assert verify(header(), records).probe
    records[9]["d4"] = {"critical_failing": ["etcd"]}
    assert "etcd" in verify(header(), records).why["probe"]
    records[6]["d4"] = {"critical_failing": ["etcd"]}
    assert verify(header(), records).probe


def test_a_failure_of_what_an_operator_looked_into_is_charged_to_the_look() -> None:
    records = line([1.0] * 12)
    records[9]["d4"] = {"critical_failing": ["etcd"]}
    look = {"by": "kubernetes-admin", "tool": "container", "at_ns": 40 * SECOND, "took_ms": 2000.0}
    records[8] |= {"d3": None, "probes": [{**look, "into": "kube-system/etcd-control-plane"}]}
    records[7]["d3"] = None
    assert "etcd" in verify(header(), records).why["probe"]
    records[8]["probes"] = [{**look, "into": "shop/frontend"}]
    assert verify(header(), records).probe


@pytest.mark.parametrize(
    ("tool", "into", "passes"),
    [
        ("container", "shop/frontend", False),
        ("kubectl", "exec -n shop frontend-1 -- sleep 6", False),
        ("kubectl", "logs -n shop frontend-1 -f", True),
        ("node", "worker-1", True),
    ],
)
def test_a_long_look_into_a_container_is_charged_to_who_looked(tool: str, into: str, passes: bool) -> None:
    records = line([1.0] * 12)
    look = {"by": "kubernetes-admin", "tool": tool, "into": into, "at_ns": 40 * SECOND, "took_ms": 6001.0}
    records[8] |= {"d3": None, "probes": [look]}
    found = verify(header(), records)
    assert found.probe is passes
    assert passes or found.why["probe"].startswith(f"kubernetes-admin was in {into} for 6001 ms")


def test_user_minutes() -> None:
    records = line([1.0] * 12)
    for one in records[2:8]:  # 15 s to 40 s: half of the users fail
        one["users"] = {"sent": 50, "ok": 25}
    verdict = verify(header(), records)
    assert verdict.user_minutes_lost == round(2 * 25 / 10 / 60, 3)
    assert verdict.user_minutes_lost_total == round(6 * 25 / 10 / 60, 3)


def test_piling_everything_on_one_node_is_seen() -> None:
    piled = line([1.0] * 12, placement={"worker-3": 11})
    verdict = verify(header(), piled)
    assert verdict.placement == {"nodes": {"worker-3": 11}, "largest_share": 1.0, "passed": False}
    assert verify({**header(), "spread": {"worker-3": 11}}, piled).placement["passed"]


def test_nothing_recorded_is_no_success() -> None:
    verdict = verify(header(), [])
    assert sorted(verdict.why) == ["depth", "outcome", "probe", "temporal"]
    assert verdict.to_dict()["passed"] is False
