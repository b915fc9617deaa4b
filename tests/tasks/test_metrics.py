"""What metrics say of users in every task, beside what the engine knows: share of errors and quantiles of latency."""

from __future__ import annotations

import math

import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import Starts
from simcluster.models.traffic.cluster.causes import STATUS
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.tasks.model import resolve
from simcluster.telemetry.promql.evaluation import query
from simcluster.world import World

SAMPLE = ("cpu_limit_too_low_online_boutique", "conntrack_full_online_boutique")
STARTS = Starts(keep=2)
#: Spans are handed over every 15 s and scraped every 15 s: so much later metrics know what happened.
LATE_NS = 15 * SECOND
#: Seconds compared, and requests below which nothing can be said of quantiles.
SPAN_S, FEW = 120, 60
SERVER = 'span_kind="SPAN_KIND_SERVER",service_name="{}"'


def observed(task_id: str) -> World:
    """A task with Prometheus beside it, some minutes after its incident."""
    task = tasks.load(task_id).model_copy(update={"telemetry": True})
    world = STARTS.healthy(task, 3)
    episode = Episode(world, resolve(task, world), 3, None, None)
    episode.begin()
    world.run_for(episode.incident.last_at_ns + 240 * SECOND)
    return world


def asked(world: World, text: str) -> float:
    """A number as of the last scrape."""
    store = world.series
    assert store is not None
    found = query(store, text, max(log.last_ms for log in store.logs.values()))
    return float(found.series[0].values[0]) if found.series else math.nan


def quantile(world: World, load: UserLoad, share: float) -> tuple[float, float]:
    """The bucket in which a quantile lies, milliseconds."""
    spans = f'duration_milliseconds_bucket{{{SERVER.format(load.service)},status_code="STATUS_CODE_UNSET"}}'
    value = asked(world, f"histogram_quantile({share}, sum by (le) (increase({spans}[{SPAN_S}s])))")
    bounds = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1e3, 1.4e3, 2e3, 5e3, 1e4, 15e3, 1e9)
    place = next(at for at, bound in enumerate(bounds) if bound >= value)
    return bounds[place - 1], bounds[place]


def agree(world: World, load: UserLoad) -> bool:
    """Compare; whether there was enough to do so."""
    spans = f"calls_total{{{SERVER.format(load.service)}"
    fine = asked(world, f'sum(increase({spans},status_code="STATUS_CODE_UNSET"}}[{SPAN_S}s])) or vector(0)')
    bad = asked(world, f'sum(increase({spans},status_code="STATUS_CODE_ERROR"}}[{SPAN_S}s])) or vector(0)')
    now = world.now - LATE_NS
    met = load.window(now - SPAN_S * SECOND, now)
    refused = met.errors.get(STATUS, 0)
    if met.ok + refused < FEW:
        return False
    assert fine == pytest.approx(met.ok, rel=0.15, abs=20)
    assert bad / (fine + bad) == pytest.approx(refused / (met.ok + refused), abs=0.08)
    for share in (0.5, 0.9) if met.ok >= FEW else ():
        low, high = quantile(world, load, share)
        assert 0.8 * low <= met.latency_ms(share) <= 1.25 * high, share
    return True


def compared(task_id: str) -> int:
    world = observed(task_id)
    return sum([agree(world, load) for load in world.traffic.users.values()])  # integers


@pytest.mark.parametrize("task_id", SAMPLE)
def test_metrics_agree_with_what_users_meet(task_id: str) -> None:
    assert compared(task_id)


@pytest.mark.slow(every=40)
@pytest.mark.parametrize("task_id", [name for name in tasks.ids() if name not in SAMPLE])
def test_metrics_agree_with_what_users_meet_in_any_other_task(task_id: str) -> None:
    compared(task_id)
