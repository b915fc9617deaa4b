"""Samples of eight small incidents, as scrapes every 15 s would have left them, and queries about them.

Counters that restart, pods that come and go with the marker of staleness, scrapes that fail, gauges that fall silent,
histograms that shift. All of it follows from a seed, with the arithmetic of the state path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simcluster.engine.streams import Stream
from simcluster.telemetry.promql.storage import STALE_NAN
from tests.telemetry.promql.memory import Memory

#: 2026-03-02T09:00:00Z, and how long it is scraped.
START_MS, LENGTH_MS, SCRAPE_MS = 1_772_442_000_000, 2_400_000, 15_000
INCIDENTS = ("steady", "restart", "replaced", "unreachable", "slow", "leak", "silent", "flapping")
BOUNDS = ("0.005", "0.05", "0.1", "0.5", "1", "5", "+Inf")


def samples() -> Memory:
    """All samples."""
    store = Memory()
    for number, incident in enumerate(INCIDENTS):
        for pod in range(3):
            _pod(store, incident, pod, Stream(7919 * number + pod + 1))
    return store


def _scrapes(incident: str, pod: int) -> Iterator[tuple[int, str]]:
    """Instants, and whether the pod is `there`, `fails` to answer, or is `gone` since the last."""
    phase = 1_237 * (pod + 1) + 311 * INCIDENTS.index(incident)
    was = "there"
    for k in range(LENGTH_MS // SCRAPE_MS):
        state = "there"
        if incident == "unreachable" and 60 <= k < 85 + 10 * pod:
            state = "fails"
        if incident == "replaced" and pod == 1 and k >= 70:
            state = "absent"
        if incident == "replaced" and pod == 2 and k < 74:
            state = "absent"
        if incident == "flapping" and (k // (7 + pod)) % 3 == 2:
            state = "fails"
        if state != "there" and was == "there" and k:
            yield START_MS + k * SCRAPE_MS + phase, "gone" if state == "absent" else "failed"
        elif state != "absent":
            yield START_MS + k * SCRAPE_MS + phase, state
        was = state


def _pod(store: Memory, incident: str, pod: int, stream: Stream) -> None:
    base = {"incident": incident, "pod": f"web-{pod}", "instance": f"10.0.{INCIDENTS.index(incident)}.{pod}:8080"}
    total = errors = 0.0
    counts = [0] * len(BOUNDS)
    latency_sum = 0.0
    memory = 50e6 + 1e6 * pod
    for k, (at, state) in enumerate(_scrapes(incident, pod)):
        up = 1.0 if state == "there" else 0.0
        if state != "gone":
            store.add({"__name__": "up", **base}, {at: up})
        values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        if incident == "restart" and k in (50 + 5 * pod, 110):
            total, errors, counts, latency_sum = 0.0, 0.0, [0] * len(BOUNDS), 0.0
        requests = stream.integer(80, 120)
        failed = stream.integer(0, 6 if incident != "slow" or k < 60 else 40)
        total, errors = total + requests, errors + failed
        slow = 8.0 if incident == "slow" and k >= 60 else 1.0
        for _ in range(20):
            spent = stream.exponential(0.06 * slow)
            latency_sum = latency_sum + spent
            for place, bound in enumerate(BOUNDS):
                counts[place] += spent <= float(bound)
        memory = memory + (stream.uniform(0.0, 1.5e6) if incident == "leak" else stream.normal(0.0, 2e5))
        values["http_requests_total", (("code", "200"),)] = total
        values["http_requests_total", (("code", "500"),)] = errors
        for place, bound in enumerate(BOUNDS):
            values["http_request_duration_seconds_bucket", (("le", bound),)] = float(counts[place])
        values["http_request_duration_seconds_sum", ()] = latency_sum
        values["http_request_duration_seconds_count", ()] = float(counts[-1])
        values["process_resident_memory_bytes", ()] = memory
        if not (incident == "silent" and 40 <= k < 100):
            values["queue_depth", ()] = float("nan") if k % 37 == 5 else float(stream.integer(0, 9))
        values["build_info", (("version", "1.2" if k < 80 else "1.3"),)] = 1.0
        for (name, labels), value in values.items():
            series = {"__name__": name, **base, **dict(labels)}
            if state == "there":
                store.add(series, {at: value})
            elif state in ("failed", "gone"):
                store.add(series, {at: STALE_NAN})


#: Queries with `%s` for the selector of an incident.
FORMS = (
    "up%s", "http_requests_total%s", "queue_depth%s", "build_info%s", 'http_requests_total{code=~"5.."}',
    "rate(http_requests_total%s[1m])", "rate(http_requests_total%s[97s])", "irate(http_requests_total%s[2m])",
    "increase(http_requests_total%s[5m])", "delta(process_resident_memory_bytes%s[4m])", "idelta(queue_depth%s[1m])",
    "deriv(process_resident_memory_bytes%s[5m])", "predict_linear(process_resident_memory_bytes%s[5m], 600)",
    "holt_winters(process_resident_memory_bytes%s[5m], 0.3, 0.6)", "changes(queue_depth%s[5m])",
    "resets(http_requests_total%s[10m])", "sum_over_time(queue_depth%s[3m])", "avg_over_time(queue_depth%s[3m])",
    "min_over_time(queue_depth%s[3m])", "max_over_time(queue_depth%s[3m])", "count_over_time(up%s[2m])",
    "stddev_over_time(process_resident_memory_bytes%s[5m])", "stdvar_over_time(queue_depth%s[5m])",
    "quantile_over_time(0.7, process_resident_memory_bytes%s[5m])", "last_over_time(queue_depth%s[2m])",
    "present_over_time(queue_depth%s[2m])", "absent_over_time(queue_depth%s[2m])", "absent(queue_depth%s)",
    "sum(rate(http_requests_total%s[2m])) by (code)", "sum without (pod, instance) (up%s)", "avg(queue_depth%s)",
    "min by (pod) (http_requests_total%s)", "max(process_resident_memory_bytes%s)", "count(up%s)", "group(up%s)",
    "stddev(process_resident_memory_bytes%s)", "stdvar by (incident) (queue_depth%s)", "quantile(0.4, queue_depth%s)",
    "topk(2, process_resident_memory_bytes%s)", "bottomk(1, process_resident_memory_bytes%s)",
    'count_values("depth", queue_depth%s)',
    "histogram_quantile(0.95, sum by (le) (rate(http_request_duration_seconds_bucket%s[2m])))",
    "histogram_quantile(0.5, rate(http_request_duration_seconds_bucket%s[90s]))",
    "rate(http_request_duration_seconds_sum%s[2m]) / rate(http_request_duration_seconds_count%s[2m])",
    'sum(rate(http_requests_total{code="500"}[2m])) / ignoring(x) sum(rate(http_requests_total%s[2m]))',
    'http_requests_total%s / on(pod, incident) group_left(version) build_info%s', "up%s == 0", "up%s == bool 1",
    "queue_depth%s > 3", "queue_depth%s and on(pod) up%s == 1", "queue_depth%s or up%s", "up%s unless queue_depth%s",
    "-queue_depth%s", "queue_depth%s %% 3", "queue_depth%s ^ 2.5", "2 ^ queue_depth%s", "queue_depth%s atan2 3",
    "abs(delta(queue_depth%s[1m]))", "ceil(process_resident_memory_bytes%s / 3e6)", "floor(rate(up%s[5m]) * 100)",
    "clamp(queue_depth%s, 2, 5)", "clamp_min(queue_depth%s, 4)", "clamp_max(queue_depth%s, 4)",
    "sgn(queue_depth%s - 4)", "exp(queue_depth%s)", "ln(queue_depth%s)", "log2(process_resident_memory_bytes%s)",
    "log10(queue_depth%s)", "sqrt(queue_depth%s)", "round(process_resident_memory_bytes%s, 12345)",
    "sin(queue_depth%s)", "cosh(queue_depth%s)", "atan(queue_depth%s)", "deg(queue_depth%s)",
    "timestamp(queue_depth%s)", "scalar(sum(up%s))", "vector(3)", "time()", "hour(timestamp(up%s))",
    "day_of_week(timestamp(up%s))", "minute()", "days_in_month(timestamp(up%s))",
    'label_replace(up%s, "n", "$1", "pod", "web-(.*)")', 'label_join(up%s, "j", "/", "pod", "incident")',
    "max_over_time(rate(http_requests_total%s[1m])[5m:30s])", "avg_over_time(queue_depth%s[4m:17s])",
    "sum_over_time(up%s[5m:1m] offset 90s)", "rate(http_requests_total%s[2m] offset 3m)", "queue_depth%s offset -45s",
    "queue_depth%s @ 1772443200.5", "rate(http_requests_total%s[3m] @ end())",
    "max_over_time(queue_depth%s[2m] @ start())", "quantile_over_time(0.9, rate(http_requests_total%s[1m])[5m:20s])",
    "rate(http_requests_total%s[15s])", "rate(http_requests_total%s[10s])", "sum(up%s) > 1 or vector(0)",
)  # fmt: skip


class Asked(NamedTuple):
    """A query: at an instant when `step_ms` is 0."""

    text: str
    start_ms: int
    end_ms: int
    step_ms: int


def queries() -> list[Asked]:
    """Every form for every incident, at instants and over ranges that meet no scrape."""
    stream = Stream(2027)
    found = []
    for incident in INCIDENTS:
        for form in FORMS:
            selector = f'{{incident="{incident}"}}'
            text = form.replace("%s", selector).replace("%%", "%")
            at = START_MS + stream.integer(0, LENGTH_MS)
            if stream.uniform() < 0.4:
                found.append(Asked(text, at, at, 0))
            else:
                step = (7_000, 13_500, 15_000, 61_250)[stream.integer(0, 3)]
                found.append(Asked(text, at, at + step * stream.integer(5, 14), step))
    return found
