"""Queues of several priorities, by counts: who goes first, who waits, what retries of a lower priority are good for."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from simcluster.engine.content import ContentError
from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.priorities import base_of, split_services, with_priorities
from simcluster.models.traffic.graph import GraphSpec, spec_of

EXPONENTIAL = {"law": "exponential", "mean": "5ms"}


def ranked(high: float, low: float, *, seconds: int = 20, **service: Any) -> GraphSpec:
    """Two loads of different priority on one worker of 200 a second."""
    loads = {
        name: {"target": "db", "open": {"rate": rate}, "call": {"timeout": "300ms", "priority": priority}}
        for name, rate, priority in (("gold", high, 5), ("base", low, 0))
    }
    described = {"queue": {"discipline": "priority"}, "operations": {"query": {"work": EXPONENTIAL}}, **service}
    run = {"duration": f"{seconds}s", "window": "1s", "warmup": "2s"}
    return spec_of({"run": run, "services": {"db": described}, "load": loads})


def test_higher_priorities_wait_only_for_what_is_being_served() -> None:
    total = AggregateRun(ranked(80, 100), 3).run().load_totals
    gold, base = total["gold"], total["base"]
    # Cobham: W0/(1 - rho1) and W0/((1 - rho1)(1 - rho)), with W0 = 0.9 x 5 ms; and 5 ms of service
    assert gold.latency.mean / 1e6 == pytest.approx(5.0 + 4.5 / 0.6, rel=0.15)
    assert base.latency.mean / 1e6 == pytest.approx(5.0 + 4.5 / 0.06, rel=0.35)
    assert gold.ok == gold.arrivals


def test_overload_hits_the_lowest_priority() -> None:
    result = AggregateRun(ranked(120, 150, seconds=12), 1).run()
    assert result.load_totals["gold"].ok > 0.99 * result.load_totals["gold"].arrivals
    assert result.load_totals["base"].ok < 0.2 * result.load_totals["base"].arrivals
    assert list(result.services) == ["db"]
    assert result.service_totals["db"].busy == pytest.approx(1.0, abs=0.03)
    served = result.service_totals["db"].served / result.measured_seconds()
    assert served == pytest.approx(200.0, rel=0.05)


def test_a_full_queue_refuses_all_priorities_alike() -> None:
    result = AggregateRun(ranked(120, 150, seconds=12, queue={"discipline": "priority", "bound": 10}), 1).run()
    shares = [total.failed["rejected"] / total.arrivals for total in result.load_totals.values()]
    assert shares[0] == pytest.approx(shares[1], abs=0.05)
    assert shares[0] == pytest.approx(1.0 - 200.0 / 270.0, abs=0.05)


@pytest.mark.parametrize(("later", "recovers"), [(0, True), (None, False)])
def test_retries_of_a_lower_priority_do_not_keep_a_storm_alive(later: int | None, recovers: bool) -> None:
    call: dict[str, Any] = {"timeout": "100ms", "priority": 1, "retries": {"attempts": 5}}
    if later is not None:
        call["retry_priority"] = later
    spec = spec_of(
        {
            "run": {"duration": "12s", "window": "1s"},
            "services": {
                "db": {
                    "queue": {"discipline": "priority", "bound": 2000},
                    "operations": {"query": {"work": EXPONENTIAL}},
                }
            },
            "load": {"users": {"target": "db", "open": {"rate": 110}, "call": call}},
            "events": [{"at": "3s", "for": "1s", "capacity": {"service": "db", "factor": 0.05}}],
        }
    )
    result = AggregateRun(spec, 2).run()
    late = result.between("users", 9_000_000_000, 12_000_000_000)
    assert (late.ok > 0.9 * late.arrivals) is recovers


def test_priorities_are_inherited_on_the_way() -> None:
    spec = ranked(80, 80)
    front = {"operations": {"get": {"steps": [{"call": {"service": "db", "timeout": "300ms"}}]}}}
    loads = {name: {**load.model_dump(exclude_unset=True), "target": "web/get"} for name, load in spec.load.items()}
    made = spec_of(
        {"services": {"web": front, "db": spec.services["db"].model_dump(exclude_unset=True)}, "load": loads}
    )
    assert split_services(made) == {"db": [5, 0]}
    split = with_priorities(made)
    assert [base_of(name) for name in split.services] == ["web", "db", "db"]
    assert len(split.services["web"].operations) == 2
    short = made.model_copy(update={"run": made.run.model_copy(update={"duration": 6_000_000_000})})
    total = AggregateRun(short, 1).run().load_totals
    assert total["gold"].latency.quantile(0.9) < total["base"].latency.quantile(0.9)


def test_one_priority_is_an_ordinary_queue() -> None:
    spec = ranked(50, 50).model_copy(update={"load": {"gold": ranked(50, 50).load["gold"]}})
    assert with_priorities(spec) is spec


def test_a_run_goes_on_from_a_pickle_with_the_same_bits() -> None:
    run = AggregateRun(ranked(80, 100, seconds=3), 3)
    for _ in range(40):
        run.step()
    again = pickle.loads(pickle.dumps(run))
    assert run.run().to_dict() == again.run().to_dict()


def test_what_linked_queues_cannot_share_is_refused() -> None:
    with pytest.raises(ContentError, match=r"services\.db\.rate_limit.*--engine exact"):
        AggregateRun(ranked(50, 50, rate_limit={"rate": 100}), 0)
