"""Asks a real Prometheus about incidents that were lived through, and compares with the cluster's own.

    python -m tests.telemetry.promql.worlds PROMETHEUS [TASK...]

Each task is played until its page, five minutes on, through its first reference fix, and five minutes more. What its
Prometheus has scraped and recorded by then goes to the real one by remote write, markers of staleness included. Both
are asked the expressions of the cluster's rules and forms over drawn families, at instants and over ranges that meet no
scrape.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import yaml

from simcluster.engine import SECOND
from simcluster.engine.streams import Stream
from simcluster.eval.episode.start import Starts
from simcluster.eval.worlds.steps import perform
from simcluster.telemetry.metrics.store import MetricStore
from simcluster.telemetry.promql.storage import Labels, Matcher
from simcluster.world import World
from simcluster.world.bootstrap import manifest
from tests.telemetry.promql.incidents import Asked
from tests.telemetry.promql.oracle import Server, equal, ours

TASKS = (
    "wrong_service_selector_online_boutique",
    "memory_leak_online_boutique",
    "kubelet_stopped_online_boutique",
    "cpu_limit_too_low_online_boutique",
    "machine_fail_stop_hotel_reservation",
    "silent_corruption_hotel_reservation",
    "missing_service_hotel_reservation",
    "retry_storm_storefront",
)
#: Queries of one incident, the rules not counted; how long it is looked at before and after the repair.
QUERIES, SPAN_S = 80, 300
#: `%s` is a counter, a gauge, or the base of a histogram's names.
COUNTERS = (
    "rate(%s[2m])", "rate(%s[97s])", "irate(%s[2m])", "increase(%s[5m])", "resets(%s[10m])", "changes(%s[5m])",
    "sum by (namespace) (rate(%s[2m]))", "sum by (job) (increase(%s[3m]))", "count by (job, instance) (%s)",
    "sum without (pod, instance, container, id) (rate(%s[2m]))", "%s offset 3m", "rate(%s[3m] @ end())",
    "max_over_time(rate(%s[1m])[5m:30s])", "avg_over_time(%s[4m:17s])", "rate(%s[2m]) > 0", "idelta(%s[1m])",
    "quantile(0.9, rate(%s[2m]))", "stddev by (job) (rate(%s[3m]))", "absent(%s)", "rate(%s[2m] offset 90s)",
    "sum(rate(%s[2m])) / on () count(up)", "rate(%s[2m]) * on (job, instance) group_left () up",
)  # fmt: skip
GAUGES = (
    "%s", "avg by (namespace) (%s)", "max(%s)", "min by (job) (%s)", "delta(%s[4m])", "deriv(%s[5m])", "%s == 0",
    "predict_linear(%s[5m], 600)", "avg_over_time(%s[3m])", "max_over_time(%s[3m])", "min_over_time(%s[201s])",
    "quantile_over_time(0.7, %s[5m])", "stddev_over_time(%s[5m])", "stdvar_over_time(%s[5m])", "%s > bool 0",
    "last_over_time(%s[2m])", "sum_over_time(%s[3m])", "count_over_time(%s[2m])", "present_over_time(%s[2m])",
    "absent_over_time(%s[1m])", "changes(%s[10m])", "%s unless on (job, instance) up == 1", "%s offset -45s",
    "%s * on (job, instance) group_left () up", "abs(delta(%s[1m]))", "holt_winters(%s[5m], 0.3, 0.6)",
    "timestamp(%s)", "scalar(sum(%s))", "sum(%s) or vector(0)", "sgn(%s - 1)", "sqrt(%s)", "round(%s, 0.5)",
    "clamp(%s, 1, 100)", "ln(%s + 1)", "group by (instance) (%s)", 'count_values("v", %s)', "%s and on (job) up == 0",
    'label_replace(%s, "host", "$1", "instance", "(.*):.*")', 'label_join(%s, "j", "/", "job", "namespace")',
    "max_over_time(%s[5m:1m] offset 1m)", "stdvar by (job) (%s)", "%s %% 3", "quantile by (job) (0.4, %s)",
)  # fmt: skip
HISTOGRAMS = (
    "histogram_quantile(0.95, sum by (le) (rate(%s_bucket[2m])))", "histogram_quantile(0.5, rate(%s_bucket[90s]))",
    "rate(%s_sum[2m]) / rate(%s_count[2m])", "sum by (le, job) (increase(%s_bucket[5m]))",
    "histogram_quantile(0.99, sum by (le, job, namespace) (increase(%s_bucket[5m])))",
    "sum(rate(%s_bucket[3m])) by (le) / on () group_left () sum(rate(%s_count[3m]))",
)  # fmt: skip


def lived(task_id: str) -> World:
    """A cluster after an incident, its page, its repair and some time."""
    episode = Starts(keep=1).start(task_id, 3)
    episode.world.run_for(SPAN_S * SECOND)
    for step in episode.task.reference_fixes[0]:
        perform(episode, step)
    episode.world.run_for(SPAN_S * SECOND)
    return episode.world


def samples_of(store: MetricStore) -> dict[Labels, dict[int, float]]:
    """All that was scraped and recorded."""
    every = store.select([Matcher("__name__", "=~", ".+")], 0, 1 << 60)
    return {one.labels: dict(zip(one.times.tolist(), one.values.tolist(), strict=True)) for one in every}


def rules() -> list[str]:
    """Expressions of the cluster's rules."""
    found = []
    for each in yaml.safe_load_all(manifest("observe-rules.yaml")):
        for text in each.get("data", {}).values():
            found += [rule["expr"] for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    return found


def forms(names: list[str], stream: Stream) -> Iterator[str]:
    """Queries about drawn families."""
    bases = sorted(name.removesuffix("_bucket") for name in names if name.endswith("_bucket"))
    parts = {base + end for base in bases for end in ("_bucket", "_sum", "_count")}
    counters = [name for name in names if name.endswith("_total") or name in parts]
    gauges = [name for name in names if name not in counters]
    for _ in range(QUERIES):
        kind = stream.uniform()
        some = (HISTOGRAMS, bases) if kind < 0.1 else (COUNTERS, counters) if kind < 0.5 else (GAUGES, gauges)
        form, name = (each[stream.integer(0, len(each) - 1)] for each in some)
        yield form.replace("%s", name).replace("%%", "%")


def asked_of(store: MetricStore, stream: Stream) -> Iterator[Asked]:
    """The rules and the forms, each at an instant or over a range of the past."""
    last = max(log.last_ms for log in store.logs.values())
    names = sorted({dict(labels)["__name__"] for labels in samples_of(store)})
    for text in (*rules(), *forms(names, stream)):
        at = last - stream.integer(1, 900_000)
        if stream.uniform() < 0.4:
            yield Asked(text, at, at, 0)
        else:
            step = (7_000, 13_500, 15_000, 61_250)[stream.integer(0, 3)]
            yield Asked(text, at - step * stream.integer(5, 14), at, step)


def main(binary: str, *task_ids: str) -> None:
    """Ask everything."""
    asked = right = 0
    for number, task_id in enumerate(task_ids or TASKS):
        store = lived(task_id).series
        assert store is not None
        every, mine, filled = samples_of(store), 0, 0
        queries = list(asked_of(store, Stream(4242 + number)))
        with Server(binary, every) as server:
            for one in queries:
                theirs, own = server.answer(one), ours(store, one)
                filled += bool(theirs.get("data", {}).get("result"))
                if equal(own, theirs):
                    mine += 1
                else:
                    print(f"{one}\n  theirs {str(theirs)[:700]}\n  ours   {str(own)[:700]}")
        print(f"{task_id}: {mine} of {len(queries)} equal, {filled} not empty; {len(every)} series", flush=True)
        asked, right = asked + len(queries), right + mine
    print(f"{right} of {asked} equal ({100 * right / asked:.2f} %)")


if __name__ == "__main__":
    main(*sys.argv[1:])
