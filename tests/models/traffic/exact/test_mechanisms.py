"""Shared cores, slow error paths, decorrelated jitter and limits that adapt, request by request."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import Result, spec_of
from simcluster.models.traffic.graph.adaptive import Adaptive, Limiter


def run(service: dict[str, Any], times: list[str], **more: Any) -> Result:
    """Requests at given instants."""
    load = {"target": "s", "replay": {"times": times}, "call": more.pop("call", {})}
    graph = {"run": {"duration": "1s", "window": "1s"}, "services": {"s": service}, "load": {"users": load}, **more}
    return ExactRun(spec_of(graph), 0).run()


def shared(work: str, **more: Any) -> dict[str, Any]:
    return {"workers": None, "cores": 1, "sharing": "processor", "operations": {"o": {"work": work}}, **more}


def test_two_requests_share_a_core() -> None:
    # 10 ms alone, then both at half speed: the first has 30 of its 40 ms left and ends at 70, the second at 80.
    latency = run(shared("40ms"), ["0s", "10ms"]).load_totals["users"].latency
    assert latency.count == 2
    assert latency.maximum == 70_000_000
    assert latency.total == 70_000_000 + 70_000_000


def test_a_limit_of_workers_makes_the_third_wait() -> None:
    service = shared("40ms", workers=2)
    # two share until 80 ms, and the third then has the core for itself
    found = run(service, ["0s", "0s", "0s"])
    assert found.load_totals["users"].latency.maximum == 120_000_000
    assert found.service_totals["s"].wait.maximum == 80_000_000


def test_two_cores_are_not_shared_by_two() -> None:
    assert run(shared("40ms", cores=2), ["0s", "10ms"]).load_totals["users"].latency.maximum == 40_000_000


def test_shared_work_slows_down_with_the_cpu() -> None:
    event = {"at": "20ms", "capacity": {"service": "s", "factor": 0.5}}
    found = run(shared("40ms"), ["0s", "0s"], events=[event])
    assert found.load_totals["users"].latency.maximum == 140_000_000  # 20 of 80 ms of work at full speed


def test_a_request_that_is_stopped_gives_its_share_back() -> None:
    call = {"timeout": "30ms", "cancel": "running"}
    found = run(shared("40ms"), ["0s", "20ms"], call=call)
    # both time out: at 30 and at 50 ms neither has had 40 ms of work
    assert found.load_totals["users"].failed["timeout"] == 2
    assert found.service_totals["s"].served == 0
    assert found.service_totals["s"].working == pytest.approx(0.05, abs=1e-9)


def test_an_error_costs_its_work_before_it_is_answered() -> None:
    service = {"operations": {"o": {"work": "1ms", "failure": 1.0, "error_work": "20ms"}}}
    found = run(service, ["0s", "0s"])
    assert found.load_totals["users"].failed["error"] == 2
    assert found.service_totals["s"].sojourn.maximum == 42_000_000
    assert found.service_totals["s"].working == pytest.approx(0.042, abs=1e-9)


def test_a_deadline_that_has_passed_costs_an_error() -> None:
    service = {"operations": {"o": {"work": "10ms", "error_work": "50ms"}}}
    found = run(service, ["0s", "0s"], call={"timeout": "5ms", "propagate": True})
    assert found.service_totals["s"].working == pytest.approx(0.06, abs=1e-9)


def test_decorrelated_sleeps_stay_between_base_and_cap() -> None:
    backoff = {"base": "10ms", "max": "20ms", "jitter": "decorrelated"}
    call = {"retries": {"attempts": 6, "backoff": backoff}}
    service = {"workers": None, "operations": {"o": {"work": "1ms", "failure": 1.0}}}
    graph = {
        "run": {"duration": "20s", "window": "1s"},
        "services": {"s": service, "front": {"workers": None, "operations": {"o": {"steps": [
            {"call": {"service": "s", "required": False, **call}}]}}}},
        "load": {"users": {"target": "front", "open": {"rate": 100}}},
    }  # fmt: skip
    latency = ExactRun(spec_of(graph), 0).run().load_totals["users"].latency
    assert latency.quantile(0.0) >= 56e6 * 0.99
    assert latency.maximum <= 106_000_000
    assert 56e6 < latency.mean < 106e6


def test_rules_of_limits() -> None:
    gradient = Limiter(Adaptive(kind="gradient", initial=16, fastest="10ms"))
    gradient.update(12.5e6, 100.0, 16.0)
    assert gradient.limit == 20.0  # 1.25 x the fastest: all of it, and the square root
    gradient.update(100e6, 100.0, 20.0)
    assert gradient.limit == pytest.approx(10.0 + 20.0**0.5)  # never below a half
    aimd = Limiter(Adaptive(kind="aimd", initial=20, timeout="50ms"))
    aimd.update(60e6, 10.0, 20.0)
    assert aimd.limit == 18.0
    aimd.update(20e6, 10.0, 3.0)
    assert aimd.limit == 18.0  # hardly used: it does not grow
    aimd.update(20e6, 10.0, 9.0)
    assert aimd.limit == 19.0
    vegas = Limiter(Adaptive(kind="vegas", initial=100, fastest="10ms"))
    vegas.update(10e6, 10.0, 90.0)
    assert vegas.limit == 102.0
    vegas.update(20e6, 10.0, 90.0)
    assert vegas.limit == pytest.approx(100.0, abs=0.02)


def test_the_fastest_is_measured_by_windows_of_many() -> None:
    measured = Limiter(Adaptive(kind="gradient"))
    measured.update(1e6, 49.0, 20.0)
    assert measured.limit == 20.0
    measured.update(10e6, 50.0, 20.0)
    assert measured.fastest == 10e6


@pytest.mark.parametrize(("reuse", "third"), [("mru", 20), ("lru", 10)])
def test_of_two_links_the_slower_one_lies_on_top_of_a_pool(reuse: str, third: int) -> None:
    links = {"replicas": 2, "workers": None, "balancer": "round_robin", "operations": {"o": {"work": "10ms"}}}
    slow = {"at": "0s", "capacity": {"service": "s", "factor": 0.5, "replicas": [0]}}
    found = run(links, ["1ms", "1ms", "500ms"], call={"pool": {"size": 2, "reuse": reuse}}, events=[slow])
    assert found.load_totals["users"].latency.total == (10 + 20 + third) * 1_000_000


def test_a_connection_that_timed_out_is_opened_anew() -> None:
    links = {"replicas": 2, "workers": None, "balancer": "round_robin", "operations": {"o": {"work": "10ms"}}}
    still = {"at": "0s", "capacity": {"service": "s", "factor": 0.0, "replicas": [0]}}
    call = {"timeout": "50ms", "pool": {"size": 1, "reuse": "mru"}}
    found = run(links, ["1ms", "200ms", "400ms"], call=call, events=[still])
    # round robin goes on from the link that stands still to the other one, which is then kept
    assert found.load_totals["users"].failed["timeout"] <= 1
    assert found.load_totals["users"].ok >= 2


@pytest.mark.parametrize(("cancel", "sent"), [("no", 2), ("queued", 3), ("running", 3)])
def test_a_connection_held_until_the_answer_is_free_when_the_request_is_taken_back(cancel: str, sent: int) -> None:
    service = {"workers": 1, "operations": {"o": {"work": "200ms"}}}
    call = {"timeout": "50ms", "cancel": cancel, "pool": {"size": 2, "hold": "answer"}}
    # one is served, one waits behind it until 50 ms; whoever comes at 60 ms needs the connection of one of them
    assert run(service, ["0s", "0s", "60ms"], call=call).service_totals["s"].arrivals == sent


def test_a_connection_of_a_request_that_was_dropped_silently_is_free_when_its_caller_gives_up() -> None:
    service = {"workers": 1, "queue": {"bound": 0, "overflow": "drop"}, "operations": {"o": {"work": "40ms"}}}
    call = {"timeout": "50ms", "pool": {"size": 2, "hold": "answer"}}
    found = run(service, ["0s", "0s", "100ms", "200ms", "300ms"], call=call).load_totals["users"]
    assert (found.ok, found.failed["timeout"]) == (4, 1)
