"""A simulated Online Boutique under the recorded load and manifests, asked through its Prometheus.

The manifests of those recordings: no probes, requests of 100m and 64Mi, limits of 200m and 128Mi (adservice and
currencyservice 200Mi and 300Mi); the metrics of requests in the buckets of Istio. Left out: the sidecars
themselves, of which nothing in the table is told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import urlencode

import yaml

from simcluster.engine import SECOND
from simcluster.world import World
from simcluster.world.world import NodeSpec

NAMESPACE, ENTRY, PER_S = "boutique", "frontend", 27.0
#: Upper ends of Istio's `istio_request_duration_milliseconds` (Envoy's defaults), as Go durations.
BUCKETS = [
    *("0.5ms", "1ms", "5ms", "10ms", "25ms", "50ms", "100ms", "250ms", "500ms"),
    *("1s", "2500ms", "5s", "10s", "30s", "60s", "300s"),
]
WARM_UP_S = 240
#: Of the recorded median and of its 95th percentile: between them a figure is as recorded.
LOW, HIGH = 0.7, 1.3
_API = "/api/v1/namespaces/observe/services/prometheus-server:80/proxy/api/v1/"
_SPANS = '{service_name="SERVICE",span_kind="SPAN_KIND_SERVER"}'
_ERRORS = '{service_name="SERVICE",span_kind="SPAN_KIND_SERVER",status_code="STATUS_CODE_ERROR"}'
_POD = '{namespace="boutique",pod=~"SERVICE-[0-9a-f]+-[0-9a-z]+"'
_QUANTILE = f"histogram_quantile(SHARE, sum by (le) (rate(duration_milliseconds_bucket{_SPANS}[1m])))"
#: What a recorded column is here.
QUERIES = {
    "cpu": f'sum(rate(container_cpu_usage_seconds_total{_POD},container!=""}}[1m]))',
    "mem": f'sum(container_memory_working_set_bytes{_POD},container!=""}}) / 1048576',
    "cfs": f"sum(rate(container_cpu_cfs_throttled_seconds_total{_POD}}}[1m]))",
    "rps": f"sum(rate(calls_total{_SPANS}[1m]))",
    "success": f"1 - (sum(rate(calls_total{_ERRORS}[1m])) or vector(0)) / sum(rate(calls_total{_SPANS}[1m]))",
    "p50": _QUANTILE.replace("SHARE", "0.5"),
    "p90": _QUANTILE.replace("SHARE", "0.9"),
    "rx": f"sum(rate(container_network_receive_packets_total{_POD}}}[1m]))",
    "tx": f"sum(rate(container_network_transmit_packets_total{_POD}}}[1m]))",
}
#: Digits after the point with which the recordings show a metric.
_DIGITS = {"cpu": 3, "mem": 0, "cfs": 3, "rps": 2, "success": 3, "p50": 1, "p90": 1, "rx": 1, "tx": 1}


class Figure(NamedTuple):
    """One metric of one service.

    Attributes:
        value: the median over the minutes.
        median, high: recorded p50 and p95 (of `success` p5).
    """

    service: str
    metric: str
    value: float
    median: float
    high: float

    @property
    def is_as_recorded(self) -> bool:
        """Whether it lies between 0.7 times the recorded p50 and 1.3 times the p95."""
        return LOW * self.median <= self.value <= HIGH * max(self.median, self.high)


def recorded() -> dict[str, dict[str, tuple[float, float]]]:
    """p50 and p95 by service and metric."""
    text = resources.files("simcluster.testing.healthy").joinpath("ranges.yaml").read_text()
    given = yaml.safe_load(text)
    return {service: {name: (pair[0], pair[1]) for name, pair in row.items()} for service, row in given.items()}


def shop(
    seed: int = 0,
    per_s: float = PER_S,
    nodes: Sequence[NodeSpec] | None = None,
    placed: Mapping[str, str] | None = None,
    users: int | None = None,
) -> World:
    """The cluster, warm: Prometheus, the shop and its users.

    Args:
        per_s: requests a second of all users while answers come at once.
        nodes: what to build; a usual cluster by default.
        placed: the node of each Deployment; by default the scheduler chooses.
        users: who wait for their answers before they ask on; by default nobody waits.
    """
    world = World(seed, nodes=nodes)
    world.observe()
    _use_buckets(world)
    world.deploy("online-boutique", NAMESPACE)
    for obj in world.api.store.objects("deployments.apps", NAMESPACE):
        name = obj["metadata"]["name"]
        _give_profile(world, name, obj["spec"]["template"]["spec"]["containers"][0]["name"], (placed or {}).get(name))
    world.traffic.add_users(ENTRY, NAMESPACE, ENTRY, rps=per_s, concurrency=users)
    world.run_for(WARM_UP_S * SECOND)
    return world


def _use_buckets(world: World) -> None:
    kubectl = world.kubectl()
    found = json.loads(kubectl.run("get configmap -n observe otel-collector -o json").stdout)
    relay = yaml.safe_load(found["data"]["relay"])
    relay["connectors"]["spanmetrics"]["histogram"] = {"explicit": {"buckets": BUCKETS}}
    patch = json.dumps({"data": {"relay": json.dumps(relay)}})
    kubectl.run(f"patch configmap -n observe otel-collector --type merge -p '{patch}'")
    kubectl.run("rollout restart deploy -n observe otel-collector")


def _give_profile(world: World, name: str, container: str, node: str | None) -> None:
    large = name in ("adservice", "currencyservice")
    requests = {"cpu": "100m", "memory": "200Mi" if large else "64Mi"}
    limits = {"cpu": "200m", "memory": "300Mi" if large else "128Mi"}
    own: dict[str, Any] = {"name": container, "resources": {"requests": requests, "limits": limits}}
    own |= {"readinessProbe": None, "livenessProbe": None}
    pod: dict[str, Any] = {"containers": [own]}
    if node is not None:
        pod["nodeSelector"] = {"kubernetes.io/hostname": node}
    patch = json.dumps({"spec": {"template": {"spec": pod}}})
    done = world.kubectl().run(f"patch deploy -n {NAMESPACE} {name} -p '{patch}'")
    assert done.exit_code == 0, done.stderr


def measured(minutes: int = 5, seed: int = 0) -> list[Figure]:
    """Every service and metric of the table, over so many simulated minutes."""
    world = shop(seed)
    samples: dict[tuple[str, str], list[float]] = {}
    table = recorded()
    for _ in range(minutes):
        world.run_for(60 * SECOND)
        for service in table:
            for metric, query in QUERIES.items():
                value = asked(world, query.replace("SERVICE", service))
                samples.setdefault((service, metric), []).append(round(value, _DIGITS[metric]))
    return [
        Figure(service, metric, sorted(samples[service, metric])[minutes // 2], *table[service][metric])
        for service in table
        for metric in QUERIES
    ]


def asked(world: World, query: str) -> float:
    """The first value that Prometheus answers; 0 if there is none."""
    answer = world.kubectl().run(f"get --raw '{_API}query?{urlencode({'query': query})}'").stdout
    result = json.loads(answer)["data"]["result"]
    value = float(result[0]["value"][1]) if result else 0.0
    return 0.0 if math.isnan(value) else value
