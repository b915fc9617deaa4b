"""Requests that are followed: what they meet is what all meet, in its time."""

from __future__ import annotations

import pytest

from simcluster.engine import MILLISECOND, SECOND, Snapshot, fork
from simcluster.models.traffic.cluster.causes import DEADLINE, RESET
from tests.clusters.handmade import HandmadeCluster
from tests.clusters.spannotes import SpanNotes, clients, servers
from tests.models.traffic.cluster.test_collapse import MU, chain, digest, strike


@pytest.fixture(scope="module")
def healthy() -> Snapshot[HandmadeCluster]:
    return Snapshot(chain(0.3 * MU))


@pytest.fixture(scope="module")
def collapsed() -> Snapshot[HandmadeCluster]:
    cluster = chain(0.6 * MU)
    strike(cluster)
    cluster.run(30)
    return Snapshot(cluster)


def test_a_request_of_a_healthy_chain_goes_through_every_service_once(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    notes = SpanNotes(cluster.traffic)
    cluster.run(10)

    traces = notes.whole()
    assert len(traces) == pytest.approx(20 * 10, rel=0.25)
    for spans in traces[:-20]:
        assert servers(spans) == ["page", "get", "query"]
        assert len(spans) == 5
        by_number = {span.context.span: span for span in spans}
        for span in spans:
            above = by_number.get(span.parent)
            assert span.cause is None
            assert above is None or above.start_ns <= span.start_ns <= span.end_ns <= above.end_ns


def test_a_span_is_known_when_it_has_ended_and_not_before(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    notes = SpanNotes(cluster.traffic)
    cluster.run(10)

    assert notes.found
    assert all(0 <= noted - span.end_ns < SECOND for noted, span in zip(notes.noted_ns, notes.found, strict=True))


def test_durations_are_those_that_the_users_state(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    notes = SpanNotes(cluster.traffic, per_second=60.0)
    begin = cluster.sim.now
    cluster.run(60)

    took = sorted((span.end_ns - span.start_ns) / MILLISECOND for span in notes.found if not span.parent)
    stats = cluster.traffic.users["shop/people"].window(begin, cluster.sim.now)
    assert len(took) > 3000
    assert sum(took) / len(took) == pytest.approx(stats.mean_ms, rel=0.06)
    assert took[len(took) // 2] == pytest.approx(stats.latency_ms_p50, rel=0.08)
    assert took[len(took) * 95 // 100] == pytest.approx(stats.latency_ms_p95, rel=0.08)


def test_a_storm_shows_four_attempts_that_time_out(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    notes = SpanNotes(cluster.traffic)
    begin = cluster.sim.now
    cluster.run(20)

    traces = [spans for spans in notes.whole() if spans[0].end_ns < cluster.sim.now - 6 * SECOND]
    stats = cluster.traffic.users["shop/people"].window(begin, cluster.sim.now)
    failed = [spans for spans in traces if spans[0].cause is not None]
    assert len(failed) / len(traces) == pytest.approx(stats.failed / stats.ended, abs=0.05)
    for spans in failed:
        attempts = clients(spans, "db")
        causes = [span.cause.kind for span in attempts if span.cause is not None]
        assert len(attempts) == len(causes) == 4
        assert set(causes) <= {DEADLINE, RESET}
        assert len({span.parent for span in attempts}) == 1
        for span in attempts:
            if span.cause is not None and span.cause.kind == DEADLINE:
                assert span.end_ns - span.start_ns == SECOND
    late = [span for spans in failed for span in spans if span.operation is not None and span.operation.name == "query"]
    numbers = {span.context.span: span for spans in failed for span in spans}
    assert any(span.end_ns > numbers[span.parent].end_ns for span in late)  # nobody waits for it any more


def test_a_container_that_dies_takes_its_requests_along(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    notes = SpanNotes(cluster.traffic)
    cluster.run(2)
    died_ns = cluster.sim.now
    cluster.remove("db-0")
    cluster.remove("db-1")
    cluster.run(10)

    begun = [span for span in clients(notes.found, "db") if span.start_ns < died_ns < span.end_ns]
    assert any(span.cause is not None and span.cause.kind == RESET for span in begun)
    query = [s for s in notes.found if s.operation is not None and s.operation.name == "query"]
    assert all(span.start_ns <= died_ns and span.end_ns <= died_ns for span in query)


def test_whether_somebody_traces_changes_nothing(collapsed: Snapshot[HandmadeCluster]) -> None:
    quiet, watched = collapsed.restore(), collapsed.restore()
    quiet.traffic.rewire()
    SpanNotes(watched.traffic)
    quiet.run(8)
    watched.run(8)
    assert digest(quiet) == digest(watched)


def test_a_fork_follows_the_same_requests(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    notes = SpanNotes(cluster.traffic)
    cluster.run(3)
    twin, other = fork((cluster, notes))
    cluster.run(5)
    twin.run(5)
    assert notes.found == other.found
    assert len(notes.found) > 100


def test_the_first_library_on_the_way_decides_for_all(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    notes = SpanNotes(cluster.traffic, ratio=0.1, per_second=60.0)
    cluster.run(60)
    traces = notes.whole()
    assert len(traces) == pytest.approx(0.3 * MU * 60 * 0.1, rel=0.25)
    assert all(len(spans) == 5 for spans in traces[:-10])
