"""The loop made for retry storms gives what the general engine gives, figure by figure."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import spec_of


def storm(**more: Any) -> dict[str, Any]:
    service = {"operations": {"o": {"work": {"law": "exponential", "mean": "1ms"}}}, **more.pop("service", {})}
    call = {"timeout": "50ms", "retries": {"attempts": 31}, **more.pop("call", {})}
    load = {"target": "api", "open": {"rate": 600}, "call": call, **more.pop("load", {})}
    return {"run": {"duration": "2s", "window": "100ms"}, "services": {"api": service}, "load": {"users": load}, **more}


def capacity(at: str, lasts: str, factor: float) -> dict[str, Any]:
    return {"at": at, "for": lasts, "capacity": {"service": "api", "factor": factor}}


def outage(at: str, lasts: str, messages: str) -> dict[str, Any]:
    return {"at": at, "for": lasts, "outage": {"from": "users", "to": "api", "messages": messages}}


CASES: dict[str, dict[str, Any]] = {
    "storm": storm(service={"queue": {"bound": 500, "overflow": "drop"}}, events=[capacity("300ms", "250ms", 0.1)]),
    "rejections": storm(service={"queue": {"bound": 20}}, events=[capacity("300ms", "250ms", 0.0)]),
    "not retried": storm(call={"retries": {"attempts": 3, "on": ["timeout"]}}, service={"queue": {"bound": 20}}),
    "no retry": storm(call={"retries": None}),
    "four workers": storm(
        service={"workers": 4, "speed": 0.4},
        events=[capacity("300ms", "400ms", 0.2), capacity("500ms", "400ms", 0.5)],
    ),
    "held messages": storm(events=[outage("500ms", "200ms", "held"), outage("600ms", "200ms", "held")]),
    "lost messages": storm(events=[outage("500ms", "200ms", "lost"), outage("600ms", "200ms", "held")]),
    "load": storm(
        load={
            "open": {"stages": [{"for": "500ms", "rate": 300}, {"for": "1s", "rate": 0}, {"for": "9s", "rate": 700}]}
        },
        events=[
            {"at": "200ms", "for": "1s", "load": {"name": "users", "factor": 2}},
            {"at": "1700ms", "rate": {"name": "users", "rate": 100}},
        ],
    ),
    "full": storm(run={"duration": "2s", "window": "100ms", "requests": 200}, events=[capacity("300ms", "1s", 0.0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_both_loops_agree(name: str) -> None:
    spec = spec_of(CASES[name])
    for seed in (1, 2):
        fast, general = (ExactRun(spec, seed, strategies=(name,)).run() for name in ("retry_queue", "every_request"))
        assert (fast.strategies, general.strategies) == (("retry_queue",), ("every_request",))
        assert {**fast.to_dict(), "strategies": None} == {**general.to_dict(), "strategies": None}


def test_what_needs_the_general_engine() -> None:
    backoff = {"retries": {"attempts": 3, "backoff": {"base": "10ms"}}}
    for graph in (
        storm(call=backoff),
        storm(call={"cancel": "queued"}),
        storm(service={"queue": {"discipline": "lifo"}}),
        storm(load={"open": {"rate": 600, "arrivals": "even"}}),
        storm(events=[{"at": "1s", "restart": {"service": "api"}}]),
        storm(network="1ms"),
    ):
        assert ExactRun(spec_of(graph)).strategy() == "every_request"


def test_it_ends_when_enough_is_seen() -> None:
    spec = spec_of(CASES["storm"])
    found = ExactRun(spec).run(lambda result: len(result.load["users"]) == 3)
    assert len(found.load["users"]) == 3
    assert found.end_ns == 300_000_000
