"""What the language reads, and what it refuses with which words."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from simcluster.engine.content import ContentError
from simcluster.models.traffic import graph as package
from simcluster.models.traffic.graph import GraphSpec, load_spec, spec_of
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.load import Load, Stage, cosine_of_turns

EXAMPLES = sorted((Path(package.__file__).parent / "examples").glob("*.yaml"))
SMALL: dict[str, Any] = {
    "services": {
        "web": {"operations": {"page": {"work": "1ms", "steps": [{"call": {"service": "db", "timeout": "1s"}}]}}},
        "db": {"caches": {"c": {"keys": 10, "capacity": 5}}, "operations": {"query": {"work": "1ms"}}},
    },
    "load": {"users": {"target": "web", "open": {"rate": 10}}},
}


def changed(*path: str | int, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(SMALL)
    here: Any = data
    for step in path[:-1]:
        here = here.setdefault(step, {}) if isinstance(here, dict) else here[step]
    here[path[-1]] = value
    return data


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_read(path: Path) -> None:
    spec = load_spec(path)
    assert spec.run.duration > spec.run.warmup
    assert set(spec.dependency_order()) == set(spec.services)


def test_there_are_enough_examples() -> None:
    assert len(EXAMPLES) >= 8


def test_a_file_names_line_and_nearest_key(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "services:\n  web:\n    operations:\n      page: {work: 1ms}\n"
        "load:\n  users:\n    target: web\n    open: {rate: 1}\n    call:\n      timeuot: 1s\n"
    )
    with pytest.raises(ContentError) as caught:
        load_spec(path)
    assert str(caught.value) == f"{path}:10: load.users.call: unknown key 'timeuot'; did you mean 'timeout'?"


STEPS = ("services", "db", "operations", "query", "steps")
WORK = ("services", "db", "operations", "query", "work")
EVENTS = ("events",)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("load", "users", "open", "rate"), -1, "must be at least 0, not -1"),
        (("load", "users", "open", "rate"), float("inf"), "rate"),
        (("load", "users", "call", "timeout"), "0s", "greater than 0"),
        (("load", "users", "call", "timeout"), 5, "a duration needs a unit"),
        (("load", "users", "call", "pool"), {"size": 0}, "must be at least 1, not 0"),
        (("load", "users", "call", "retries"), {"attempts": 0}, "must be at least 1, not 0"),
        (("load", "users", "call", "deadline"), "1ms", None),
        (("load", "users", "target"), "wbe", "unknown service 'wbe'; did you mean 'web'?"),
        (("load", "users", "target"), "web/pgae", "unknown operation of web 'pgae'; did you mean 'page'?"),
        (("load", "users", "closed"), {"users": 1, "think": "1s"}, "exactly one of open, closed, replay"),
        (("services", "web", "workers"), 0, "must be at least 1, not 0"),
        (("services", "web", "cores"), 2, "would idle for ever"),
        (("services", "web", "rate_limit"), {"rate": 0}, "greater than 0"),
        (("services", "web", "shed"), {}, "say max_queue, max_delay, max_in_flight or adaptive"),
        (("services", "web", "shed"), {"adaptive": {"kind": "aimd"}}, "aimd needs the timeout"),
        (("services", "web", "shed"), {"adaptive": {"kind": "vegas", "initial": 2}}, "is not between least (3)"),
        (("services", "web", "shed"), {"adaptive": {"kind": "vegas"}, "max_in_flight": 3}, "both limit what is inside"),
        (("services", "web", "sharing"), "processor", "say cores"),
        (("load", "users", "call"), {"retries": {"attempts": 2, "backoff": {
            "base": "1ms", "factor": 2, "jitter": "decorrelated"}}}, "takes no factor"),
        (("services", "web", "heap"), {"size": "1Mi", "base": "2Mi", "allocation": 1}, "leaves nothing of the heap"),
        (WORK, {"law": "gamma", "mean": "1s"}, "takes mean and cv"),
        (WORK, {"law": "hyperexponential", "mean": "1s", "cv": 0.5}, "at least 1"),
        (STEPS, [{"work": "1ms", "wait": "1ms"}], "exactly one of"),
        (STEPS, [{"call": {"service": "web"}}], "in a circle: "),
        (STEPS, [{"choose": [{"probability": 0.7}, {"probability": 0.7}]}], "more than 1"),
        (STEPS, [{"cached": {"cache": "d", "miss": [{"wait": "1s"}]}}], "unknown cache 'd'"),
        (("services", "users"), {"operations": {"o": {}}}, "edges would be ambiguous"),
        (("services", "web", "queue"), {"bound": 1, "overflow": "drop"}, "needs a timeout"),
        (("run",), {"duration": "1s", "warmup": "1s"}, "not shorter than the run"),
        (("run",), {"duration": "1h", "window": "1us"}, "longer window"),
        (EVENTS, [{"at": "1s", "capacity": {"service": "bd", "factor": 0.5}}], "unknown service 'bd'"),
        (EVENTS, [{"at": "1s", "capacity": {"service": "db", "factor": 0.5, "replicas": [1]}}], "there are 1 replicas"),
        (EVENTS, [{"at": "1s", "outage": {"from": "web", "to": "db"}}], "an outage needs an end"),
        (EVENTS, [{"at": "1s", "for": "1s", "outage": {"from": "users", "to": "db"}}], "users does not call db"),
        (EVENTS, [{"at": "2m", "load": {"name": "users", "factor": 2}}], "the run has ended by then"),
        (EVENTS, [{"at": "1s"}], "exactly one of"),
        (EVENTS, [{"at": "1s", "loss": {"service": "db", "replicas": 2}}], "only 1 replicas"),
    ],
)  # fmt: skip
def test_the_impossible_is_refused(path: tuple[str, ...], value: Any, words: str | None) -> None:
    data = changed(*path, value=value)
    if words is None:
        assert isinstance(spec_of(data), GraphSpec)
        return
    with pytest.raises(ContentError, match=None) as caught:
        spec_of(data)
    assert words in str(caught.value)


def test_asynchronous_circles_are_allowed() -> None:
    spec = spec_of(changed("services", "db", "operations", "query", "steps", value=[{"send": {"service": "web"}}]))
    assert len(list(spec.calls())) == 2


def test_moments_of_laws() -> None:
    assert Law.model_validate("2ms").mean_ns == 2e6
    assert Law.model_validate({"law": "erlang", "mean": "1s", "stages": 4}).scv == 0.25
    assert Law.model_validate({"law": "uniform", "low": "0s", "high": "2s"}).scv == pytest.approx(1 / 3)
    branches = [{"probability": 0.5, "mean": "1s"}, {"probability": 0.5, "mean": "3s"}]
    law = Law.model_validate({"law": "hyperexponential", "branches": branches})
    assert law.mean_ns == 2e9
    assert law.scv == pytest.approx(2 * 5 / 4 - 1)
    balanced = Law.model_validate({"law": "hyperexponential", "mean": "1s", "cv": 2.0})
    assert sum(p * mean for p, mean in balanced.two_branches()) == pytest.approx(1e9)
    assert sum(2 * p * mean * mean for p, mean in balanced.two_branches()) == pytest.approx(5e18)


def test_rates_over_time() -> None:
    stages = [{"for": "10s", "rate": 100}, {"for": "10s", "rate": 100, "to": 200}]
    load = Load.model_validate({"target": "x", "open": {"stages": stages}})
    assert [load.rate_at(t * 10**9) for t in (0, 9, 15, 20, 99)] == [100, 100, 150, 200, 200]
    assert load.change_points() == [10 * 10**9, 20 * 10**9]
    day = {"rate": 100, "diurnal": {"period": "24h", "amplitude": 0.5, "peak": "12h"}}
    load = Load.model_validate({"target": "x", "open": day})
    assert load.rate_at(0) == pytest.approx(50)
    assert load.rate_at(12 * 3600 * 10**9) == pytest.approx(150)
    assert load.rate_at(6 * 3600 * 10**9) == pytest.approx(100)
    assert Stage.model_validate({"for": "1s", "rate": 1}).lasts == 10**9


def test_cosine() -> None:
    expected = {
        0.0: 1.0,
        0.125: 0.7071067811865476,
        0.25: 0.0,
        0.5: -1.0,
        0.75: 0.0,
        1.0: 1.0,
        -0.125: 0.7071067811865476,
    }
    for turns, value in expected.items():
        assert cosine_of_turns(turns) == pytest.approx(value, abs=1e-14)


def test_replayed_counts() -> None:
    load = Load.model_validate({"target": "x", "replay": {"counts": [2, 0, 1], "per": "1s"}})
    assert load.replay is not None
    assert load.replay.instants() == [250_000_000, 750_000_000, 2_500_000_000]
