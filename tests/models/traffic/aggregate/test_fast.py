"""With the accelerator and without it runs have the same bits; without numba there is none."""

import sys
import warnings

import numpy as np
import pytest

from simcluster.eval.bench.layered import layered_spec
from simcluster.models.traffic.aggregate import fast
from simcluster.models.traffic.aggregate.live import LiveTraffic
from simcluster.models.traffic.aggregate.run import AggregateRun
from simcluster.models.traffic.aggregate.state import Options
from simcluster.models.traffic.graph import spec_of

needs_numba = pytest.mark.skipif(not fast.is_installed(), reason="numba is not installed")


def call(service, timeout, attempts, **more):
    return {"call": {"service": service, "timeout": timeout, "retries": {"attempts": attempts}, **more}}


def storm(**front):
    """Two levels below a front, so many pods that kernels are used; a spike overloads the middle."""
    return {
        "name": "storm",
        "run": {"duration": "6s", "window": "1s"},
        "services": {
            "front": {
                "replicas": 8,
                "workers": 64,
                "blocking": False,
                "operations": {
                    "op": {
                        "work": "2ms",
                        "failure": 0.01,
                        "steps": [
                            call("middle", "300ms", 3),
                            {"choose": [{"probability": 0.4, "steps": [call("leaf", "200ms", 2)]}]},
                        ],
                    }
                },
                **front,
            },
            "middle": {
                "replicas": 20,
                "workers": 2,
                "blocking": False,
                "queue": {"bound": 60},
                "operations": {
                    "op": {"work": {"law": "exponential", "mean": "10ms"}, "steps": [call("leaf", "100ms", 3, times=2)]}
                },
            },
            "leaf": {
                "replicas": 24,
                "workers": 1,
                "operations": {"op": {"work": {"law": "lognormal", "mean": "2ms", "cv": 1.5}}},
            },
        },
        "load": {"users": {"target": "front", "open": {"rate": 2500}, "call": {"timeout": "1s"}}},
        "events": [
            {"at": "1s", "for": "1s", "load": {"name": "users", "factor": 3}},
            {"at": "3s", "for": "1s", "capacity": {"service": "leaf", "factor": 0.3}},
        ],
    }


def patient():
    """The same with users who try again after a while."""
    described = storm()
    backoff = {"base": "40ms", "factor": 3, "jitter": "full"}
    described["load"]["users"]["call"]["retries"] = {"attempts": 4, "backoff": backoff}
    return described


def small():
    """The same in a quarter of the pods: too few for the accelerator to be loaded at once."""
    described = patient()
    for service, replicas in (("front", 2), ("middle", 5), ("leaf", 6)):
        described["services"][service]["replicas"] = replicas
    described["load"]["users"]["open"]["rate"] = 625
    return described


def states(run):
    """All arrays of a run, by name."""
    found = {}
    for part in ("queues", "callers", "outcomes", "recorder"):
        for name, value in vars(getattr(run, part)).items():
            if isinstance(value, np.ndarray):
                found[f"{part}.{name}"] = value.tobytes()
    return found


@needs_numba
@pytest.mark.parametrize(
    "described",
    [
        storm(),
        storm(queue={"bound": 40}, shed={"max_in_flight": 30}),
        storm(workers=8, blocking=True),
        storm(rate_limit={"rate": 900, "burst": 50}),
        {**storm(), "network": "3ms"},
        patient(),
        small(),
    ],
    ids=["plain", "bounded front", "blocking front", "rate limit", "network", "back-off", "few lanes"],
)
def test_every_array_is_the_same_after_every_tick(described, monkeypatch):
    monkeypatch.setattr(fast, "OFTEN", 0)
    spec = spec_of(described)
    with_, without = AggregateRun(spec, 3), AggregateRun(spec, 3)
    together = 0
    for _ in range(with_.ticks):
        monkeypatch.setenv(fast.SWITCH, "on")
        before = with_.tick
        with_.step()
        monkeypatch.setenv(fast.SWITCH, "off")
        steps = 0
        while without.tick < with_.tick:
            without.step()
            steps += 1
        together += steps if steps > 1 and with_.tick - before == steps else 0
        here, there = states(with_), states(without)
        assert [name for name in here if here[name] != there[name]] == [], with_.tick
        if with_.tick >= with_.ticks:  # wide ticks are several
            break
    result = with_.result()
    assert result.to_dict() == without.result().to_dict()
    late = ("timeout", "error")  # of callees, too
    assert any(row.attempts_failed[kind] > 100 for row in result.load["users"] for kind in late), "nothing was judged"
    assert together > 20 or "compiled" not in with_.strategies or not with_.callers._plain


@needs_numba
def test_for_few_lanes_it_is_loaded_when_it_was_asked_for_often(monkeypatch):
    monkeypatch.setenv(fast.SWITCH, "on")
    monkeypatch.setattr(fast, "OFTEN", 3)
    monkeypatch.setattr(fast._Asked, "times", 0)
    monkeypatch.delitem(sys.modules, f"{fast.__name__}.ticks", raising=False)
    found = [fast.kernels_for(fast.FEW_LANES - 1) for _ in range(4)]
    assert found == [None, None, None, fast.kernels()]
    assert fast.kernels_for(fast.FEW_LANES) is fast.kernels()


@needs_numba
@pytest.mark.parametrize("storm_at", [None, 2], ids=["calm", "storm"])
def test_a_layered_graph_tells_the_same_with_it_and_without(storm_at, monkeypatch):
    spec = layered_spec(40, seconds=8, storm_at=storm_at)
    found = []
    for switch in ("on", "off"):
        monkeypatch.setenv(fast.SWITCH, switch)
        run = AggregateRun(spec, 4)
        found.append(run.run().to_dict())
        assert run.used["wide"] > 20
    assert found[0] == found[1]


@needs_numba
def test_arms_into_one_pod_stand_in_the_same_order_with_it_and_without(monkeypatch):
    def law(mean):
        return {"law": "exponential", "mean": mean}

    arms = [{"call": {"service": "db", "timeout": "1s"}}] * 3
    get = {"steps": [{"work": law("1ms")}, {"parallel": arms}]}
    services = {
        "api": {"replicas": 80, "workers": 8, "operations": {"get": get}},
        "db": {"workers": 2, "operations": {"q": {"work": law("5ms")}}},
    }
    load = {"users": {"target": "api", "open": {"rate": 60}}}
    spec = spec_of({"name": "arms", "services": services, "load": load, "run": {"duration": "20s", "window": "1s"}})
    found = []
    for switch in ("on", "off"):
        monkeypatch.setenv(fast.SWITCH, switch)
        found.append(AggregateRun(spec, 3).run().to_dict())
    assert found[0] == found[1]


@needs_numba
def test_compiled_ticks_are_fine_ticks_to_the_bit(monkeypatch):
    """Here and not beside the other strategies: so that one process of a suite compiles, and no second one."""
    monkeypatch.setenv(fast.SWITCH, "on")
    work, below = {"law": "exponential", "mean": "4ms"}, call("b", "1s", 3, times=1.5)
    services = {
        "a": {"replicas": 24, "blocking": False, "operations": {"o": {"work": work, "steps": [below]}}},
        "b": {"replicas": 32, "operations": {"o": {"work": work}}},
    }
    load = {"users": {"target": "a/o", "open": {"rate": 1500}, "call": {"timeout": "3s"}}}
    spec = spec_of({"name": "wide", "services": services, "load": load, "run": {"duration": "4s", "window": "1s"}})
    compiled, fine = (AggregateRun(spec, 5, options=Options(strategies=(name,))).run() for name in ("compiled", "fine"))
    assert compiled.to_dict() == fine.to_dict()


@needs_numba
def test_a_run_may_change_from_one_to_the_other_in_the_middle(monkeypatch):
    spec = spec_of(storm())
    mixed, without = AggregateRun(spec, 5), AggregateRun(spec, 5)
    for number in range(40):
        monkeypatch.setenv(fast.SWITCH, "on" if number % 2 else "off")
        mixed.step()
        monkeypatch.setenv(fast.SWITCH, "off")
        while without.tick < mixed.tick:
            without.step()
    assert states(mixed) == states(without)


@needs_numba
def test_sums_and_products_go_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setenv(fast.SWITCH, "on")
    compiled = fast.kernels()
    assert compiled is not None
    rng = np.arange(1, 40_001, dtype=np.float64)
    x = np.sin(rng * 0.37) * 20.0 + 5.0  # test data only
    cdf = np.ascontiguousarray(np.sort(np.abs(np.sin(rng[: 3 * 1026])).reshape(3, 1026), axis=1))
    row = (rng[:4000] % 3).astype(np.int64)
    at = 1024 * np.sqrt(np.minimum(np.maximum(x[:4000] / 7.5, 0.0), 1.0))
    index = at.astype(np.int64)
    low = cdf[row, index]
    expected = (low + (at - index) * (cdf[row, index + 1] - low)) * (x[:4000] >= 0.0)
    found = np.array([compiled._table_at(cdf, 7.5, int(r), float(v)) for r, v in zip(row, x[:4000], strict=True)])
    assert found.tobytes() == np.where(expected == 0.0, 0.0, expected).tobytes()


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv(fast.SWITCH, "off")
    assert fast.kernels() is None


def test_what_cannot_be_loaded_is_reported_once_and_done_without(monkeypatch):
    def broken(name):
        raise RuntimeError("no compiler today")

    monkeypatch.setenv(fast.SWITCH, "on")
    monkeypatch.setattr(fast.importlib, "import_module", broken)
    fast._loaded.cache_clear()
    with pytest.warns(RuntimeWarning, match="no compiler today"):
        assert fast.kernels() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fast.kernels() is None
    fast._loaded.cache_clear()


def test_a_live_storm_that_stands_still_is_leapt_over():
    web = {"replicas": 4, "workers": 1, "operations": {"op": {"work": {"law": "exponential", "mean": "10ms"}}}}
    users = {"target": "web", "open": {"rate": 900}, "call": {"timeout": "200ms", "retries": {"attempts": 3}}}
    spec = spec_of({"name": "full", "services": {"web": {**web, "queue": {"bound": 90}}}, "load": {"users": users}})
    live = LiveTraffic(spec, 3, 50_000_000, {"web": [f"web-{i}" for i in range(4)]})
    live.advance(30_000_000_000)
    while not live.engine.steady.is_still:  # chance ends a standstill now and then
        assert live.now_ns < 40_000_000_000
        live.advance(live.now_ns + 1_000_000_000)
    before, leaps = live.engine.tick, 0
    while live.engine.tick < before + 200:
        at = live.engine.tick
        live.engine.step(before + 200)
        leaps += live.engine.tick - at > 1
    assert leaps
