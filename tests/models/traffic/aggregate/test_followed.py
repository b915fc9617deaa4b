"""Queues out of which callers take requests back, followed request by request."""

from __future__ import annotations

import pickle
from statistics import fmean

import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.followed import GONE, IN_TIME, LATE, WAITS, Line, Request
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, spec_of
from simcluster.testing.agreement.graphs import single, slowed


def request(came: float, work: float, patience: float = 2.0) -> Request:
    """One of a lane 0 that leaves after so many ticks, and is late then."""
    return Request(came, came + patience, came + patience, work, 0, 0)


def line(servers: int = 1, *, stops: bool = False) -> Line:
    """An empty one."""
    return Line(servers, [0], stops=stops)


def test_a_line_serves_in_order_and_leaves_out_who_left() -> None:
    here = line()
    all_ = [request(0.0, 1.5), request(0.1, 1.0), request(0.2, 1.0), request(0.3, 0.5), request(2.9, 0.5)]
    here.add(all_)
    here.serve(3.0)
    # the second begins at 1.5 and ends after its limit of 2.1; the third would begin at 2.5 and is gone by then
    assert [one.state for one in all_] == [IN_TIME, LATE, GONE, GONE, IN_TIME]
    assert [one.begun for one in all_[:2]] == [0.0, 1.5]
    assert here.waiting == {0: 0}
    assert len(here.ended(3.0)) == 2
    assert len(here.inside) == 1


def test_who_is_taken_back_waits_no_more() -> None:
    here = line()
    first, second = request(0.0, 5.0), request(0.5, 1.0)
    here.add([first, second])
    here.serve(1.0)
    assert (second.state, here.waiting) == (WAITS, {0: 1})
    here.give_up(second)
    here.give_up(first)  # who is served stays
    assert (first.state, second.state, here.waiting) == (LATE, GONE, {0: 0})


def test_a_slower_server_is_late_with_what_it_has_begun() -> None:
    here = line()
    one, next_ = request(0.0, 1.0), request(0.5, 0.1)
    here.add([one, next_])
    here.serve(0.9)
    assert one.state == IN_TIME
    here.change(0.5, 0.1)  # half of the work is left: 5 ticks
    assert (one.state, here.inside[0][0]) == (LATE, pytest.approx(5.5))
    here.change(1.5, 1.0)
    here.serve(3.0)
    assert (one.state, next_.begun) == (IN_TIME, pytest.approx(1.9))


def test_two_servers_and_requests_given_up_in_service() -> None:
    here = line(2, stops=True)
    here.add([request(0.0, 9.0), request(0.0, 9.0), request(1.0, 0.5)])
    here.serve(3.0)
    assert here.inside[-1][1].begun == 2.0


def storm(scale: float, seconds: float = 12.0, **call: object) -> GraphSpec:
    """0.8 of one server, collapsed; `scale` times as many requests of a `scale`th of the work."""
    return spec_of(
        single(
            400 * scale,
            2 / scale,
            "100ms",
            6,
            seconds=seconds,
            warmup_s=min(4.0, seconds / 2),
            call=call,
            events=[slowed(1, 1.0)],
        )
    )


@pytest.mark.parametrize(("scale", "call"), [(1.0, {"cancel": "queued"}), (4.0, {"propagate": True})])
def test_a_storm_serves_as_many_as_on_exact_whatever_a_timeout_holds(scale: float, call: dict[str, object]) -> None:
    # by counts alone (every cohort's arrivals as if they were Poisson) .30 of the requests, in truth .37
    served = {
        kind: fmean(
            total.ok / total.arrivals
            for seed in range(4)
            for total in [kind(storm(scale, 8.0, **call), seed).run().load_totals["users"]]
        )
        for kind in (ExactRun, AggregateRun)
    }
    assert 0.33 < served[ExactRun] < 0.43
    assert served[AggregateRun] == pytest.approx(served[ExactRun], rel=0.15)


def test_a_kept_run_goes_on_with_the_same_figures() -> None:
    runs = [AggregateRun(storm(1.0, 3.0, cancel="queued"), 5) for _ in range(2)]
    while runs[1].tick < 150:
        runs[1].step()
    runs[1] = pickle.loads(pickle.dumps(runs[1]))
    first, second = (run.run().load_totals["users"] for run in runs)
    assert (first.ok, first.attempts, first.failed) == (second.ok, second.attempts, second.failed)
