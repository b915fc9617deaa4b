"""What metrics, logs and traces say of users in every task, beside what the engine knows: share of errors and quantiles
of latency; and one failing request that is found in all three by the id of its trace.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from simcluster import tasks
from simcluster.api.objects import labels_of, name_of
from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.clock import parse_rfc3339, unix_us
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import Starts
from simcluster.models.traffic.cluster.causes import STATUS
from simcluster.models.traffic.cluster.distribution import Component, probability_above
from simcluster.models.traffic.cluster.users import UserLoad, UserStats
from simcluster.tasks.model import resolve
from simcluster.telemetry.logql.evaluation import query as logql
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.promql.evaluation import query
from simcluster.telemetry.traces.span import Span
from simcluster.telemetry.traces.store import Query
from simcluster.world import World

SAMPLE = ("wrong_service_selector_online_boutique", "disk_fail_slow_hotel_reservation")
STARTS = Starts(keep=2)
#: Spans are handed over every 15 s and scraped every 15 s: so much later metrics know what happened.
LATE_NS = 15 * SECOND
#: Upper ends of buckets at which durations are compared (those of the collector), and how far shares may lie apart.
BOUNDS, APART = (2.0, 6.0, 10.0, 50.0, 100.0, 200.0, 400.0, 1e3, 2e3, 5e3), 0.1
#: Seconds compared, and requests below which nothing can be said of quantiles.
SPAN_S, FEW = 120, 60
SERVER = 'span_kind="SPAN_KIND_SERVER",service_name="{}"'
#: Programs of Online Boutique that trace when they are asked to.
TRACING = ("frontend", "checkoutservice", "productcatalogservice", "currencyservice", "recommendationservice")


class Crowd(NamedTuple):
    """Users who come by the same entry, where nobody tells them apart."""

    loads: tuple[UserLoad, ...]

    @property
    def namespace(self) -> str:
        """Of the entry."""
        return self.loads[0].namespace

    @property
    def service(self) -> str:
        """The entry."""
        return self.loads[0].service

    @property
    def timeout_ns(self) -> int:
        """After which the least patient give up."""
        return min(load.timeout_ns for load in self.loads)

    def window(self, begin_ns: int, end_ns: int) -> UserStats:
        """What they met together."""
        met = [load.window(begin_ns, end_ns) for load in self.loads]
        kinds = dict.fromkeys(kind for one in met for kind in one.errors)
        return UserStats(
            sent=sum(one.sent for one in met),
            ok=sum(one.ok for one in met),
            failed=sum(one.failed for one in met),
            errors={kind: sum(one.errors.get(kind, 0) for one in met) for kind in kinds},
            latencies=tuple(part for one in met for part in one.latencies),
            in_flight_before=sum(one.in_flight_before for one in met),
        )


def crowds(world: World) -> list[Crowd]:
    """All users of a world, by their entries."""
    found = dict[tuple[str, str], list[UserLoad]]()
    for load in world.traffic.users.values():
        found.setdefault((load.namespace, load.service), []).append(load)
    return [Crowd(tuple(loads)) for loads in found.values()]


class Lines(NamedTuple):
    """LogQL of an entry's lines of requests: stages that leave those that failed, those that did not (with `took`)."""

    bad: str
    fine: str = ""


class Counters(NamedTuple):
    """PromQL of an entry's requests: those that were answered, those with an error, and how many took no longer.

    Attributes:
        bounds: of the buckets, in milliseconds; unit: how many of the counter's own units one is.
    """

    fine: str
    bad: str
    bucket: str
    bounds: tuple[float, ...]
    unit: float = 1.0


INGRESS = Counters(
    'nginx_ingress_controller_requests{status!~"5.."}',
    'nginx_ingress_controller_requests{status=~"5.."}',
    'nginx_ingress_controller_request_duration_seconds_bucket{status!~"5..",le="%g"}',
    (5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3),
    1e-3,
)
_COMPLETE = '|= "request complete" | json status="[\\"http.resp.status\\"]", took="[\\"http.resp.took_ms\\"]"'
#: Applications of which nobody counts spans: users ask a data store itself, or spans are of functions, not requests.
SPANLESS = ("fleetcast", "tidb")
LINES = {
    "online-boutique": Lines(f"{_COMPLETE} | status >= 400", f"{_COMPLETE} | status < 400"),
    "storefront": Lines('|= " 502 "'),
}


def observed(task_id: str) -> World:
    """A task with everything that observes beside it, some minutes after its incident."""
    task = tasks.load(task_id).model_copy(update={"ticket": None})  # clusters that call by one are not watched
    world = STARTS.healthy(task, 3)
    if task.app == "online-boutique":
        for name in TRACING:
            variables = "ENABLE_TRACING=1 COLLECTOR_SERVICE_ADDR=otel-collector.observe:4317"
            world.kubectl().run(f"set env -n {task.namespace} deployment/{name} {variables}")
        world.run_for(60 * SECOND)
    world.traffic.exemplars.most_per_second = 4.0
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


def since(counter: str) -> str:
    """By how much a counter has grown; `increase` would extrapolate from the first scrape to the span's begin."""
    return f"({counter} - ({counter} offset {SPAN_S}s or {counter} * 0))"


def below(met: UserStats, bound_ms: float) -> float:
    """Share of the requests that succeeded which took no longer."""
    total = sum(part.requests for part in met.latencies)  # integers
    above = math.fsum(part.requests * probability_above(part.latency, bound_ms * MILLISECOND) for part in met.latencies)
    return 1.0 - above / total if total else 0.0


def distance(met: UserStats, seen: Mapping[float, float]) -> float:
    """The largest difference between shares that were seen below bounds (milliseconds) and what is so (Kolmogorov)."""
    return max((abs(share - below(met, bound)) for bound, share in seen.items()), default=0.0)


def as_served(world: World, load: Crowd, met: UserStats) -> UserStats:
    """The same, but for what a bad link adds on the users' way to their entry, which no server sees."""
    plan = world.traffic.plan
    ways = [
        (target, each.rps * edge.call.count * edge.ok * target.weight)
        for each, edges in zip(world.traffic.users.values(), plan.roots, strict=True)
        for edge in (edges if each in load.loads else ())
        for target in edge.targets
    ]
    if not any(target.way.mean_ns for target, _ in ways):
        return met
    found = [Component(round(10**6 * share), plan.nodes[target.node].latency) for target, share in ways]
    return replace(met, latencies=tuple(found))


def of_users(world: World, load: Crowd, late_ns: int = LATE_NS) -> tuple[UserStats, int]:
    """What they met, and how many of their requests an error answered."""
    now = world.now - late_ns
    met = load.window(now - SPAN_S * SECOND, now)
    return met, met.errors.get(STATUS, 0)


def counters_of(load: Crowd) -> Counters:
    """Who counts the requests of these users: their entry's spans, or an ingress controller."""
    if load.service.startswith("ingress-nginx-controller"):
        return INGRESS
    of = SERVER.format(load.service)
    fine, bad = (f'calls_total{{{of},status_code="STATUS_CODE_{word}"}}' for word in ("UNSET", "ERROR"))
    bucket = f'duration_milliseconds_bucket{{{of},status_code="STATUS_CODE_UNSET",le="%g"}}'
    return Counters(fine, bad, bucket, BOUNDS)


def metrics_agree(world: World, load: Crowd) -> bool:
    """Compare with what was so as many seconds ago as spans and scrapes may be late; whether there was enough."""
    counters = counters_of(load)
    fine, bad = (asked(world, f"sum({since(each)}) or vector(0)") for each in (counters.fine, counters.bad))
    met, refused = of_users(world, load)
    if met.ok + refused < FEW:
        return False
    seen = dict[float, float]()
    for bound in counters.bounds if met.ok >= FEW else ():
        seen[bound] = asked(world, f"sum({since(counters.bucket % (bound * counters.unit))})") / fine
    differ = []
    for late_s in range(0, 2 * LATE_NS // SECOND + 1, 3):
        met, refused = of_users(world, load, late_s * SECOND)
        if fine == pytest.approx(met.ok, rel=0.05, abs=20) and bad == pytest.approx(refused, rel=0.05, abs=20):
            differ.append(distance(as_served(world, load, met), seen))
    assert differ, (fine, bad, met.ok, refused)
    assert min(differ) < APART
    return True


def is_cut_off(world: World, load: Crowd) -> bool:
    """Whether what the entry prints does not arrive, as those say who send it: Promtail on its nodes."""
    pods = world.api.store.objects
    nodes = {p["spec"].get("nodeName") for p in pods("pods", load.namespace) if labels_of(p).get("app") == load.service}
    senders = [p for p in pods("pods", "observe") if labels_of(p).get("app.kubernetes.io/name") == "promtail"]
    beside = [name_of(pod) for pod in senders if pod["spec"]["nodeName"] in nodes]
    said = [world.kubectl().run(f"logs -n observe {pod} --since={SPAN_S}s").stdout for pod in beside]
    return bool(said) and all("error sending batch" in text for text in said)


def logs_agree(world: World, load: Crowd, app: str) -> bool:
    """Counts of lines, and the durations that they state; whether the entry prints any and they arrive."""
    store, lines = world.lines, LINES.get(app)
    if store is None or lines is None or is_cut_off(world, load):
        return False
    streams = f'{{namespace="{load.namespace}",app="{load.service}"}}'

    def of_lines(text: str) -> float:
        found = logql(store, text, EPOCH_NS + world.now - LATE_NS)
        return float(found.series[0][1][0] or 0.0) if found.series else 0.0

    met, refused = of_users(world, load)
    if met.ok + refused < FEW:
        return False
    given_up = met.failed - refused + met.in_flight_before  # the server may have finished those
    bad = of_lines(f"sum(count_over_time({streams} {lines.bad} [{SPAN_S}s]))")
    assert 0.95 * refused - 20 <= bad <= 1.05 * (refused + given_up) + 20
    if not lines.fine:
        return True
    fine = of_lines(f"sum(count_over_time({streams} {lines.fine} [{SPAN_S}s]))")
    assert 0.95 * met.ok - 20 <= fine <= 1.05 * (met.ok + given_up) + 20
    within = f"| took < {load.timeout_ns // MILLISECOND}"
    count = f"sum(count_over_time({streams} {lines.fine} {within} "
    whole = of_lines(f"{count} [{SPAN_S}s]))")
    seen = {bound: of_lines(f"{count} | took < {bound:g} [{SPAN_S}s]))") / whole for bound in BOUNDS if met.ok >= FEW}
    assert distance(as_served(world, load, met), seen) < APART
    return True


def entered(world: World, load: Crowd) -> list[Span]:
    """First spans of requests of users, in every Jaeger that there is."""
    end_us = unix_us(world.now - LATE_NS)
    found = []
    for machine in world.machines.values():
        for run in machine.runtime.containers():
            traces = getattr(run.program, "traces", None)
            for service in ("frontend", "unknown_service:server") if traces is not None else ():
                for spans in traces.find(Query(service, start_us=end_us - SPAN_S * 10**6, end_us=end_us, limit=0)):
                    found += [span for span in spans if not span.parent_id]
    return found


def traces_agree(world: World, load: Crowd) -> bool:
    """Shares of sampled requests; whether there were enough of them (an ingress controller traces nothing)."""
    if counters_of(load) is INGRESS:
        return False
    spans = [span for span in entered(world, load) if span.duration_us * 1000 < load.timeout_ns]
    met, refused = of_users(world, load)
    bad = [span for span in spans if ("error", True) in span.tags]
    fine = [span.duration_us / 1000.0 for span in spans if ("error", True) not in span.tags]
    if len(spans) < FEW or met.ok + refused < FEW:
        return False
    expected = refused / (met.ok + refused)
    assert len(bad) / len(spans) == pytest.approx(expected, abs=0.03 + _chance(expected, len(spans)))
    seen = {bound: sum(took <= bound for took in fine) / len(fine) for bound in BOUNDS if len(fine) >= FEW}  # integers
    assert distance(as_served(world, load, met), seen) < APART + _chance(0.5, len(fine) or 1)
    return True


def _chance(share: float, count: int) -> float:
    """Four standard deviations of a share of a sample."""
    return 4.0 * math.sqrt(max(share * (1.0 - share), 1.0 / count) / count)


def compared(task_id: str) -> tuple[World, set[str]]:
    """A task's world, and by what it could be compared."""
    world = observed(task_id)
    app, found = str(tasks.load(task_id).app), set[str]()
    for load in crowds(world):
        spans = app not in SPANLESS
        said = (spans and metrics_agree(world, load), logs_agree(world, load, app), traces_agree(world, load))
        found |= {name for name, there in zip(("metrics", "logs", "traces"), said, strict=True) if there}
    return world, found


def test_all_three_agree_with_what_users_meet_and_know_the_same_request() -> None:
    world, found = compared(SAMPLE[0])
    assert found == {"metrics", "logs", "traces"}
    one_request(world)


def one_request(world: World) -> None:
    """A page that failed: its line in Loki has the id of its trace, which Jaeger has; Prometheus counts it."""
    run = world.kubectl().run

    def get(service: str, path: str) -> Any:
        return json.loads(run(f"get --raw '/api/v1/namespaces/observe/services/{service}/proxy/{path}'").stdout)

    text = "%7Bapp%3D%22frontend%22%7D%20%7C%3D%20%22request%20error%22%20%7C%3D%20%22trace_id%22"
    end = EPOCH_NS + world.now - LATE_NS  # a tracing library hands spans over every 5 s
    (stream, *_) = get("loki:3100", f"loki/api/v1/query_range?query={text}&limit=1&end={end}")["data"]["result"]
    line = json.loads(stream["values"][0][1])
    assert "failed to get user cart" in line["error"] or "could not retrieve cart" in line["error"]
    (trace,) = get("jaeger-out:16686", f"api/traces/{line['trace_id']}")["data"]
    spans = {span["spanID"]: span for span in trace["spans"]}
    page = spans[line["span_id"]]
    assert page["operationName"] == "frontend"
    assert not page["references"]
    tags = {tag["key"]: tag["value"] for tag in page["tags"]}
    assert (tags["error"], tags["http.status_code"]) == (True, 500)
    failed = [span for span in spans.values() if {"key": "error", "type": "bool", "value": True} in span["tags"]]
    assert any(span["operationName"].startswith("hipstershop.CartService/") for span in failed)
    assert page["startTime"] <= unix_us(parse_rfc3339(line["timestamp"])) <= page["startTime"] + page["duration"] + 1
    errors = f'calls_total{{{SERVER.format("frontend")},status_code="STATUS_CODE_ERROR"}}'
    assert asked(world, f"sum(increase({errors}[{SPAN_S}s]))") > 0


@pytest.mark.slow(sample=0)  # the one above has all three
@pytest.mark.parametrize("task_id", [SAMPLE[1], *(name for name in tasks.ids() if name not in SAMPLE)])
def test_they_agree_in_every_other_task(task_id: str) -> None:
    compared(task_id)
