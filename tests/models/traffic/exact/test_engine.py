"""The exact engine: each mechanism in a graph small enough to know the answer."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from simcluster.models.traffic import graph as package
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import Result, load_spec, spec_of

MS = 1_000_000


def run(data: dict[str, Any], seed: int = 0, **options: Any) -> Result:
    return ExactRun(spec_of(data), seed, **options).run()


def one(times: list[str] | None = None, call: dict[str, Any] | None = None, **service: Any) -> dict[str, Any]:
    """One service of 10 ms; requests at the given instants."""
    service.setdefault("operations", {"o": {"work": "10ms"}})
    return {
        "run": {"duration": "2s", "window": "1s"},
        "services": {"s": service},
        "load": {"u": {"target": "s", "replay": {"times": times or ["0s"]}, "call": call or {}}},
    }


def latencies(result: Result, load: str = "u") -> tuple[int, float]:
    total = result.load_totals[load]
    return total.ok, total.latency.total / MS


def test_a_plain_queue_is_the_same_in_both_loops() -> None:
    for bound in (None, 3):
        data = {
            "run": {"duration": "300s", "warmup": "20s", "window": "10s"},
            "services": {"s": {"workers": 2, "queue": {"bound": bound}, "speed": 1.5,
                               "operations": {"o": {"work": {"law": "exponential", "mean": "1s"}}}}},
            "load": {"u": {"target": "s", "open": {"rate": 2.6}}},
        }  # fmt: skip
        fast, general = run(data, 3), run(data, 3, strategies=("every_request",))
        assert (fast.strategies, general.strategies) == (("single_queue",), ("every_request",))
        assert {**fast.to_dict(), "strategies": None} == {**general.to_dict(), "strategies": None}
        assert general.load_totals["u"].arrivals > 600


def test_the_same_seed_gives_the_same_run() -> None:
    path = Path(package.__file__).parent / "examples" / "defences.yaml"
    data = load_spec(path).model_copy(update={"run": load_spec(path).run.model_copy(update={"duration": 3 * 10**9})})
    data = data.model_copy(update={"events": ()})
    first, again, other = (ExactRun(data, seed).run().to_dict() for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first["services" if "services" in first else "totals"]


def test_fifo_lifo_priority() -> None:
    times = ["0s", "1ms", "2ms", "3ms"]
    for discipline, expected in (("fifo", [10, 19, 28, 37]), ("lifo", [10, 17, 28, 39])):
        result = run(one(times, queue={"discipline": discipline}))
        assert latencies(result) == (4, float(sum(expected)))
    data = one(queue={"discipline": "priority"})
    data["load"] = {
        "low": {"target": "s", "replay": {"times": ["0s", "1ms", "2ms"]}},
        "high": {"target": "s", "replay": {"times": ["3ms"]}, "call": {"priority": 5}},
    }
    assert latencies(run(data), "high") == (1, 17.0)


def test_bounds_reject_or_drop() -> None:
    times = ["0s", "1ms", "2ms"]
    result = run(one(times, queue={"bound": 1}))
    assert result.load_totals["u"].failed["rejected"] == 1
    result = run(one(times, {"timeout": "100ms"}, queue={"bound": 1, "overflow": "drop"}))
    assert result.load_totals["u"].failed["timeout"] == 1
    assert result.service_totals["s"].rejected == 1


def test_time_outs_leave_stale_work_unless_cancelled() -> None:
    times = ["0s"] * 4
    stale = run(one(times, {"timeout": "15ms"}))
    assert stale.load_totals["u"].failed["timeout"] == 3
    assert (stale.service_totals["s"].served, stale.service_totals["s"].late) == (4, 3)
    queued = run(one(times, {"timeout": "15ms", "cancel": "queued"}))
    assert queued.service_totals["s"].served == 2  # the second was being served
    running = run(one([*times, "15500us"], {"timeout": "15ms", "cancel": "running"}))
    assert running.service_totals["s"].served == 2  # the first, and the one that came when all were gone
    assert running.load_totals["u"].latency.maximum == 10 * MS
    travelling = run(one(times, {"timeout": "15ms", "propagate": True}))
    assert travelling.service_totals["s"].served == 2
    assert travelling.service_totals["s"].rejected == 2


def test_retries_back_off() -> None:
    backoff = {"base": "100ms", "factor": 2.0, "max": "300ms"}
    call = {"retries": {"attempts": 4, "backoff": backoff}}
    result = run(one(None, call, operations={"o": {"work": "10ms", "failure": 1.0}}))
    total = result.load_totals["u"]
    assert (total.attempts, total.failed["error"]) == (4, 1)
    assert result.services["s"][0].arrivals == 4  # at 0, 110, 320, 630 ms
    call["deadline"] = "400ms"
    assert run(one(None, call, operations={"o": {"work": "10ms", "failure": 1.0}})).load_totals["u"].attempts == 3


@pytest.mark.parametrize(("jitter", "low", "high"), [("full", 0.0, 1.0), ("equal", 0.5, 1.0)])
def test_jitter(jitter: str, low: float, high: float) -> None:
    call = {"timeout": "10ms", "retries": {"attempts": 2, "backoff": {"base": "100ms", "jitter": jitter}}}
    data = one(["0s"] * 200, call, workers=None, operations={"o": {"work": "5ms"}})
    data["events"] = [{"at": "0s", "for": "1ms", "outage": {"from": "u", "to": "s", "messages": "lost"}}]
    total = run(data).load_totals["u"]
    assert total.ok == 200
    waits = [total.latency.quantile(share) / MS - 15.0 for share in (0.02, 0.98)]
    assert 100 * low - 1 <= waits[0] <= 100 * low + 10
    assert 100 * high - 10 <= waits[1] <= 100 * high + 1


def test_a_budget_pays_for_retries() -> None:
    call = {"retries": {"attempts": 10, "budget": {"tokens": 2, "per_call": 0.1, "timeout_cost": 2}}}
    total = run(one(["0s"] * 100, call, workers=None, operations={"o": {"failure": 1.0}})).load_totals["u"]
    assert total.attempts == 100 + 11  # two tokens, and a tenth for each call that the full bucket could take


def test_a_breaker_opens_probes_and_closes() -> None:
    breaker = {"failure_ratio": 0.5, "minimum": 4, "window": "1s", "open_for": "300ms"}
    data = one([f"{50 * k}ms" for k in range(30)], {"breaker": breaker, "timeout": "20ms"})
    data["events"] = [{"at": "0s", "for": "600ms", "outage": {"from": "u", "to": "s", "messages": "lost"}}]
    total = run(data).load_totals["u"]
    # failures at 0..150 ms open it; the probes of 500 ms fails, that of 850 ms closes it
    assert total.failed["timeout"] == 5
    assert total.ok == 13
    assert total.failed["refused"] == 12


def test_adaptive_throttling_refuses_about_the_excess() -> None:
    call = {"throttle": {"k": 2.0, "window": "10s"}, "timeout": "1s"}
    data = one(None, call, workers=None, operations={"o": {"failure": 1.0}})
    data["load"]["u"] = {"target": "s", "open": {"rate": 500}, "call": call}
    total = run(data).load_totals["u"]
    assert total.failed["refused"] > 0.97 * total.arrivals


def test_hedging_takes_the_first_answer() -> None:
    call = {"hedge": {"after": "20ms"}}
    data = one(None, call, replicas=2, balancer="round_robin")
    data["events"] = [{"at": "0s", "capacity": {"service": "s", "factor": 0.01, "replicas": [1]}}]
    data["load"]["u"]["replay"] = {"times": ["1ms", "100ms"]}
    total = run(data).load_totals["u"]
    assert total.ok == 2
    assert (total.attempts, total.latency.maximum) == (4, 30 * MS)  # in turn: both met the slow one first


def test_a_pool_holds_callers_back() -> None:
    call = {"pool": {"size": 2}, "timeout": "15ms"}
    result = run(one(["0s"] * 3, call, workers=None))
    assert result.load_totals["u"].failed["timeout"] == 1  # 10 ms of waiting, then 5 of 10
    result = run(one(["0s"] * 3, {"pool": {"size": 2, "waiting": 0}}, workers=None))
    assert result.load_totals["u"].failed["refused"] == 1


def two_tiers(**web: Any) -> dict[str, Any]:
    steps = web.pop("steps", [{"call": {"service": "db", "timeout": "1s"}}])
    return {
        "run": {"duration": "2s", "window": "1s"},
        "services": {
            "web": {"operations": {"o": {"work": "1ms", "steps": steps}}, **web},
            "db": {"workers": None, "operations": {"q": {"work": "10ms"}}},
        },
        "load": {"u": {"target": "web", "replay": {"times": ["0s", "0s"]}}},
    }


def test_threads_block_on_their_callees_or_do_not() -> None:
    assert latencies(run(two_tiers())) == (2, 11.0 + 22.0)
    assert latencies(run(two_tiers(blocking=False))) == (2, 11.0 + 12.0)


def test_steps() -> None:
    wait, call = {"wait": "5ms"}, {"call": {"service": "db", "timeout": "1s"}}
    cases: list[tuple[list[dict[str, Any]], float]] = [
        ([wait, call], 16.0),
        ([{"parallel": [wait, call]}], 11.0),
        ([{"parallel": [{"sequence": [wait, wait, wait]}, call]}], 16.0),
        ([{"choose": [{"probability": 1.0, "steps": [wait]}]}], 6.0),
        ([{"send": {"service": "db"}}], 1.0),
        ([{"call": {"service": "db", "times": 3}}], 31.0),
        ([{"call": {"service": "db", "timeout": "2ms", "required": False}}, {"work": "2ms"}], 5.0),
    ]
    for steps, expected in cases:
        data = two_tiers(steps=steps, workers=None)
        assert latencies(run(data)) == (2, 2 * expected), steps


def test_cores_serve_one_after_the_other() -> None:
    result = run(one(["0s"] * 4, workers=4, cores=2))
    assert latencies(result) == (4, 10.0 + 10.0 + 20.0 + 20.0)
    assert result.service_totals["s"].queue == 0.0


def test_capacity_stretches_work_in_progress() -> None:
    data = one(None, operations={"o": {"work": "100ms"}})
    data["events"] = [{"at": "50ms", "for": "100ms", "capacity": {"service": "s", "factor": 0.0}}]
    assert latencies(run(data)) == (1, 200.0)
    data["events"] = [{"at": "50ms", "capacity": {"service": "s", "factor": 0.5}}]
    assert latencies(run(data)) == (1, 150.0)
    data["events"] = [{"at": "50ms", "capacity": {"service": "s", "factor": 2.0}}]
    assert latencies(run(data)) == (1, 75.0)


def test_outages_hold_or_lose_messages() -> None:
    data = one()
    data["events"] = [{"at": "0s", "for": "1s", "outage": {"from": "u", "to": "s"}}]
    data["load"]["u"]["replay"] = {"times": ["1ms"]}
    assert latencies(run(data)) == (1, 999.0 + 10.0)


def test_lost_replicas_answer_with_errors_and_come_back_empty() -> None:
    data = one(["0s", "0s", "20ms", "150ms"], replicas=2, balancer="round_robin", operations={"o": {"work": "50ms"}})
    data["events"] = [{"at": "10ms", "for": "100ms", "loss": {"service": "s", "replicas": 2}}]
    total = run(data).load_totals["u"]
    assert (total.ok, total.failed["error"]) == (1, 3)
    data["events"] = [{"at": "10ms", "restart": {"service": "s"}}]
    total = run(data).load_totals["u"]
    assert (total.ok, total.failed["error"]) == (2, 2)


def test_shedding_and_rate_limits() -> None:
    times = ["0s"] * 10
    assert run(one(times, shed={"max_queue": 3})).load_totals["u"].ok == 4
    assert run(one(times, shed={"max_in_flight": 3})).load_totals["u"].ok == 3
    assert run(one(times, shed={"max_delay": "25ms"})).load_totals["u"].ok == 3
    assert run(one(times, shed={"max_delay": "5ms", "interval": "45ms"})).load_totals["u"].ok == 5
    assert run(one(times, rate_limit={"rate": 1, "burst": 2})).load_totals["u"].ok == 2


def test_caches_fill_and_are_flushed() -> None:
    cache = {"keys": 4, "popularity": "uniform", "capacity": 4, "warm": False}
    step = {"cached": {"cache": "c", "miss": [{"wait": "10ms"}]}}
    data = one(None, workers=None, caches={"c": cache}, operations={"o": {"steps": [step]}})
    data["load"]["u"] = {"target": "s", "open": {"rate": 200, "arrivals": "even"}}
    data["events"] = [{"at": "1s", "flush": {"service": "s", "cache": "c"}}]
    result = run(data)
    for window in result.services["s"]:
        assert 4 <= window.lookups - window.hits <= 20
        assert window.hits > 150


def test_collections_stop_the_world() -> None:
    heap = {"size": "10Mi", "base": "5Mi", "allocation": "1Mi", "pause_per_byte": 10.0}
    result = run(one(["0s"] * 10, heap=heap))
    pauses = result.service_totals["s"].pause_ns
    assert pauses == 2 * round(10.0 * 5 * 1024 * 1024)  # the fifth and the tenth request fill the heap
    assert latencies(result)[1] > 550.0


def test_closed_users_keep_their_number() -> None:
    data = one(None)
    data["load"]["u"] = {"target": "s", "closed": {"users": 5, "think": {"law": "exponential", "mean": "20ms"}}}
    result = run(data)
    window = result.services["s"][1]
    assert window.queue + window.busy < 5
    assert result.load["u"][1].ok == pytest.approx(98, abs=4)  # the worker is nearly always busy


def test_mixes_keep_their_operation_through_retries() -> None:
    operations = {"good": {"work": "1ms"}, "bad": {"work": "1ms", "failure": 1.0}}
    data = one(None, workers=None, operations=operations)
    call = {"retries": {"attempts": 3}}
    data["load"]["u"] = {"mix": {"s/good": 1, "s/bad": 1}, "open": {"rate": 500}, "call": call}
    total = run(data).load_totals["u"]
    assert total.failed["error"] == pytest.approx(500, abs=80)
    assert total.attempts == pytest.approx(total.ok + 3 * total.failed["error"], abs=5)


def test_a_run_that_grows_for_ever_is_stopped() -> None:
    data = one(None)
    data["run"]["requests"] = 50
    data["load"]["u"] = {"target": "s", "open": {"rate": 1000}}
    for strategy in ("single_queue", "every_request"):
        result = run(data, strategies=(strategy,))
        assert result.strategies == (strategy,)
        assert "more than 50" in result.stopped
        assert result.end_ns < 2 * 10**9


def test_bursts_have_the_right_mean() -> None:
    burst = {"factor": 5.0, "on": "100ms", "off": "400ms"}
    data = one(None, workers=None, operations={"o": {}})
    data["run"] = {"duration": "60s"}
    data["load"]["u"] = {"target": "s", "open": {"rate": 100, "burst": burst}}
    assert run(data).load_totals["u"].arrivals / 60 == pytest.approx(180, rel=0.15)


def test_specs_and_results_can_be_pickled() -> None:
    result = run(one())
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()
