"""A run as a whole: conservation, repeatability, closed forms, and small cells against the exact engine."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, load_spec, spec_of
from simcluster.models.traffic.graph import spec as spec_module

EXAMPLES = Path(spec_module.__file__).parent / "examples"


def exponential(mean: str) -> dict[str, str]:
    return {"law": "exponential", "mean": mean}


def chain(rate: float = 300.0, *, retries: int = 3, event: bool = True) -> GraphSpec:
    """A front end with two replicas that calls a cache-less store; the store is slow for a while."""
    call = {"service": "store", "timeout": "40ms", "retries": {"attempts": retries, "backoff": {"base": "10ms"}}}
    return spec_of(
        {
            "run": {"duration": "4s", "window": "500ms"},
            "services": {
                "front": {
                    "replicas": 2,
                    "workers": None,
                    "operations": {"get": {"work": exponential("1ms"), "steps": [{"call": call}]}},
                },
                "store": {"queue": {"bound": 50}, "operations": {"read": {"work": exponential("2ms")}}},
            },
            "load": {
                "users": {
                    "target": "front",
                    "open": {"rate": rate},
                    "call": {"timeout": "100ms", "retries": {"attempts": 2}},
                }
            },
            "events": [{"at": "1s", "for": "1s", "capacity": {"service": "store", "factor": 0.2}}] if event else [],
        }
    )


def ended_and_open(run: AggregateRun) -> tuple[float, float]:
    """Requests begun, and those that ended or are still known to be open."""
    root = int(run.recorder.roots[0])
    run.strategies = ("fine",)  # look at every tick
    begun = ended = 0.0
    while run.tick < run.ticks:
        run.step()
        begun += float(run.sampler._arrivals[(run.tick - 1) % run.queues.slots][0])
        ended += float(run.callers.succeeded[root]) + math.fsum(run.callers.final[:, root].tolist())
    return begun, ended + float(run.callers.in_flight()[root])


@pytest.mark.parametrize("rate", [100.0, 450.0])
def test_every_request_ends_exactly_once(rate: float) -> None:
    begun, accounted = ended_and_open(AggregateRun(chain(rate), 4))
    assert begun > 300
    assert accounted == pytest.approx(begun, abs=1e-6)


def test_tables_add_up() -> None:
    result = AggregateRun(chain(300.0), 4).run()
    total = result.load_totals["users"]
    assert total.arrivals == pytest.approx(1200, rel=0.1)
    assert total.ok + sum(total.failed.values()) + total.waiting == pytest.approx(total.arrivals, abs=5)
    assert sum(total.attempts_failed.values()) > 0
    assert total.latency.count == total.ok
    service = result.service_totals["store"]
    assert service.served + service.rejected <= service.arrivals + 1
    assert service.wait.count > 0


def test_same_seed_same_bits_and_another_seed_another_run() -> None:
    spec = chain()
    spec = spec.model_copy(update={"run": spec.run.model_copy(update={"duration": 2_000_000_000})})
    one = AggregateRun(spec, 9).run().to_dict()
    assert AggregateRun(spec, 9).run().to_dict() == one
    assert AggregateRun(spec, 10).run().to_dict() != one


@pytest.mark.parametrize("name", ["chain", "defences", "pools"])
def test_goes_on_from_a_pickle_with_the_same_bits(name: str) -> None:
    spec = chain() if name == "chain" else load_spec(EXAMPLES / f"{name}.yaml")
    spec = spec.model_copy(update={"run": spec.run.model_copy(update={"duration": 3_000_000_000, "warmup": 0})})
    spec = spec.model_copy(update={"events": tuple(e for e in spec.events if e.at < 3_000_000_000)})
    run = AggregateRun(spec, 2)
    while run.tick < run.ticks // 2:
        run.step()
    twin = pickle.loads(pickle.dumps(run))
    assert twin.run().to_dict() == run.run().to_dict()


def many_queues(rate: float, seconds: int, **service: Any) -> tuple[float, float]:
    """Mean number waiting, and share refused, of 150 independent queues with a mean service of 1 s a server."""
    names = [f"s{i}" for i in range(150)]
    described = {"operations": {"serve": {"work": exponential("1s")}}, **service}
    run = AggregateRun(
        spec_of(
            {
                "run": {"duration": f"{seconds}s", "window": "100s"},
                "services": dict.fromkeys(names, described),
                "load": {"users": {"mix": dict.fromkeys(names, 1), "open": {"rate": rate * len(names)}}},
            }
        ),
        1,
        tick_ns=1_000_000_000,
    )
    waiting, refused, arrived = [], 0.0, 0.0
    while run.tick < run.ticks:
        run.step()
        if run.tick > 150:
            waiting.append(math.fsum(np.floor(run.queues.waiting).tolist()) / len(names))
            refused += math.fsum(run.queues.refused.tolist())
            arrived += math.fsum(run.queues.arrived.tolist())
    return math.fsum(waiting) / len(waiting), refused / (refused + arrived)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "service", "length"),
    [(0.8, {}, 3.2), (3.2, {"workers": 4}, 2.3857), (0.5, {}, 0.5)],
)
def test_queues_are_as_long_as_theory_says(rate: float, service: dict[str, Any], length: float) -> None:
    mean, _ = many_queues(rate, 700, **service)
    assert mean == pytest.approx(length, rel=0.12, abs=0.15)


def test_blocking_is_as_frequent_as_theory_says() -> None:
    _, refused = many_queues(0.9, 700, queue={"bound": 9})
    assert refused == pytest.approx(0.0508, rel=0.25)


def test_sojourn_in_a_stable_queue() -> None:
    spec = spec_of(
        {
            "run": {"duration": "120s", "warmup": "5s", "window": "5s"},
            "services": {"server": {"operations": {"serve": {"work": exponential("2ms")}}}},
            "load": {"users": {"target": "server", "open": {"rate": 350}, "call": {"timeout": "400ms"}}},
        }
    )
    latency = AggregateRun(spec, 1, tick_ns=40_000_000).run().load_totals["users"].latency
    for share in (0.5, 0.9, 0.99):
        theory = -math.log(1 - share) / (500 - 350)
        assert latency.quantile(share) / 1e9 == pytest.approx(theory, rel=0.15)


@pytest.mark.slow(sample=0)  # ten seconds of every request
def test_hotel_collapses_in_parts_as_with_single_requests() -> None:
    """After the trigger only the search path is dead; requests escape to the other one as their retries re-draw it."""
    spec = load_spec(EXAMPLES / "hotel.yaml")
    short = spec.run.model_copy(update={"duration": 13_000_000_000})
    events = tuple(event for event in spec.events if event.at < 12_000_000_000)
    spec = spec.model_copy(update={"run": short, "events": events})
    exact, ours = (
        engine(spec, 1).run().between("users", 11_000_000_000, 13_000_000_000) for engine in (ExactRun, AggregateRun)
    )
    assert ours.attempts == pytest.approx(exact.attempts, rel=0.05)
    assert ours.ok == pytest.approx(exact.ok, rel=0.05)
    assert ours.latency.quantile(0.5) == pytest.approx(exact.latency.quantile(0.5), rel=0.1)


def test_closed_users_obey_the_response_time_law() -> None:
    spec = spec_of(
        {
            "run": {"duration": "40s", "warmup": "10s", "window": "5s"},
            "services": {"server": {"operations": {"serve": {"work": exponential("20ms")}}}},
            "load": {
                "users": {
                    "target": "server",
                    "closed": {"users": 40, "think": exponential("1s")},
                    "call": {"timeout": "5s"},
                }
            },
        }
    )
    total = AggregateRun(spec, 1).run().load_totals["users"]
    throughput = total.ok / 30
    # users = throughput x (response + think)
    assert throughput * (total.latency.mean / 1e9 + 1.0) == pytest.approx(40, rel=0.06)


def test_budget_bounds_the_retries() -> None:
    def attempts(budget: dict[str, float] | None) -> float:
        retries: dict[str, Any] = {"attempts": 3, **({"budget": budget} if budget else {})}
        spec = spec_of(
            {
                "run": {"duration": "20s", "window": "1s", "warmup": "5s"},
                "services": {"server": {"operations": {"serve": {"work": exponential("1ms"), "failure": 1.0}}}},
                "load": {
                    "users": {"target": "server", "open": {"rate": 200}, "call": {"timeout": "1s", "retries": retries}}
                },
            }
        )
        total = AggregateRun(spec, 1).run().load_totals["users"]
        return total.attempts / total.arrivals

    assert attempts(None) == pytest.approx(3.0, rel=0.03)
    assert attempts({"tokens": 10, "per_call": 0.1}) == pytest.approx(1.1, rel=0.03)


def test_lost_replicas_leave_their_load_to_the_others() -> None:
    spec = chain(200.0, event=False)
    loss = {"at": "1s", "for": "1500ms", "loss": {"service": "front", "replicas": 2}}
    spec = spec_of({**spec.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True), "events": [loss]})
    result = AggregateRun(spec, 1).run()
    down = result.between("users", 1_500_000_000, 2_500_000_000)
    assert down.ok == 0
    assert down.failed["error"] > 0.9 * down.arrivals
    after = result.between("users", 3_000_000_000, 4_000_000_000)
    assert after.ok > 0.97 * after.arrivals


def test_outage_holds_what_is_sent() -> None:
    spec = chain(100.0, event=False)
    cut = {"at": "2s", "for": "1s", "outage": {"from": "users", "to": "front"}}
    spec = spec_of({**spec.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True), "events": [cut]})
    result = AggregateRun(spec, 1).run()
    assert result.between("users", 2_000_000_000, 3_000_000_000).failed["timeout"] > 60
    assert result.services["front"][6].arrivals > result.services["front"][2].arrivals


@pytest.mark.parametrize(
    ("patience", "attempts"), [(("1s", "1s", "2s"), 1), (("3s", "2s", "1s"), 1), (("1s", "2s", "400ms"), 3)]
)
def test_who_asks_for_what_an_outage_hides_is_served_by_nobody(patience: tuple[str, str, str], attempts: int) -> None:
    """However long each of three callers waits for the next: as in the exact engine."""
    work, (users, front, back) = exponential("1ms"), patience
    store = {"service": "store", "timeout": back, "retries": {"attempts": attempts}}
    spec = spec_of(
        {
            "run": {"duration": "8s", "window": "1s"},
            "services": {
                "front": {
                    "workers": None,
                    "operations": {"page": {"work": work, "steps": [{"call": {"service": "back", "timeout": front}}]}},
                },
                "back": {"workers": None, "operations": {"get": {"work": work, "steps": [{"call": store}]}}},
                "store": {"workers": None, "operations": {"read": {"work": work}}},
            },
            "load": {"users": {"target": "front", "open": {"rate": 50}, "call": {"timeout": users}}},
            "events": [{"at": "2s", "for": "4s", "outage": {"from": "back", "to": "store", "messages": "lost"}}],
        }
    )
    for engine in (AggregateRun, ExactRun):
        cut = engine(spec, 1).run().between("users", 2_000_000_000, 5_000_000_000)
        assert cut.ok == 0
        assert sum(cut.failed.values()) > 0


def test_workers_that_wait_for_what_is_lost_serve_nobody_else() -> None:
    """Eight of them, and fifty calls a second that hang for two seconds each: as in the exact engine."""
    work = exponential("1ms")
    page = {"work": work, "steps": [{"call": {"service": "store", "timeout": "2s"}}]}
    load = {"open": {"rate": 50}, "call": {"timeout": "1s"}}
    spec = spec_of(
        {
            "run": {"duration": "8s", "window": "1s"},
            "services": {
                "front": {"workers": 8, "operations": {"page": page, "picture": {"work": work}}},
                "store": {"workers": None, "operations": {"read": {"work": work}}},
            },
            "load": {"users": {"target": "front/page", **load}, "others": {"target": "front/picture", **load}},
            "events": [{"at": "2s", "for": "4s", "outage": {"from": "front", "to": "store", "messages": "lost"}}],
        }
    )
    for engine in (AggregateRun, ExactRun):
        result = engine(spec, 1).run()
        assert result.between("users", 2_000_000_000, 5_000_000_000).ok == 0
        others = result.between("others", 3_000_000_000, 5_000_000_000)
        assert others.ok < 0.1 * others.arrivals


def test_who_does_not_ask_a_store_that_drops_messages_misses_nothing() -> None:
    """Six requests in ten call a store that answers nobody in time, and that drops most of what it gets."""
    store = {"service": "store", "timeout": "50ms"}
    choice = {"choose": [{"probability": 0.6, "steps": [{"call": store}]}]}
    spec = spec_of(
        {
            "run": {"duration": "8s", "window": "1s"},
            "services": {
                "front": {"workers": None, "operations": {"page": {"work": exponential("1ms"), "steps": [choice]}}},
                "store": {
                    "queue": {"bound": 500, "overflow": "drop"},
                    "operations": {"read": {"work": exponential("10ms")}},
                },
            },
            "load": {"users": {"target": "front", "open": {"rate": 600}, "call": {"timeout": "50ms"}}},
        }
    )
    for engine in (AggregateRun, ExactRun):
        late = engine(spec, 1).run().between("users", 4_000_000_000, 7_000_000_000)
        assert late.ok == pytest.approx(0.4 * late.arrivals, rel=0.08)


def test_cost_does_not_depend_on_the_rate() -> None:
    """Counts are numbers: the state of a run has the same size at any rate."""
    small, large = AggregateRun(chain(3.0), 1), AggregateRun(chain(30_000.0), 1)
    for _ in range(50):
        small.step()
        large.step()
    assert len(pickle.dumps(large)) < 1.05 * len(pickle.dumps(small))
    assert np.isfinite(large.queues.number).all()


def test_places_that_compute_are_bound_by_the_mean_of_their_work_and_not_by_the_most() -> None:
    """Workers that wait for others, on a core of which two unequal operations need half, and which is away a while."""

    def operation(mean: str) -> dict[str, Any]:
        return {"work": exponential(mean), "steps": [{"call": {"service": "store", "timeout": "30s"}}]}

    spec = spec_of(
        {
            "run": {"duration": "24s", "window": "4s"},
            "services": {
                "web": {
                    "workers": 400,
                    "cores": 1,
                    "operations": {"light": operation("3ms"), "heavy": operation("60ms")},
                },
                "store": {"workers": 50, "operations": {"read": {"work": exponential("1ms")}}},
            },
            "load": {
                "many": {"target": "web/light", "open": {"rate": 80}, "call": {"timeout": "30s"}},
                "few": {"target": "web/heavy", "open": {"rate": 4}, "call": {"timeout": "30s"}},
            },
            "events": [{"at": "6s", "for": "2s", "capacity": {"service": "web", "factor": 0.1}}],
        }
    )
    for run in (ExactRun, AggregateRun):
        last = run(spec, 5).run().load["many"][-1]
        assert last.waiting < 20
        assert last.ok > 250
