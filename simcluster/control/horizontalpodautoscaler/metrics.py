"""What each entry of `spec.metrics` proposes, with the words of conditions and events.

Resource and ContainerResource metrics are read from metrics.k8s.io. There is no custom or
external metrics API, so metrics of the types Pods, Object and External fail as they do in a
cluster without an adapter.
Source: kubernetes pkg/controller/podautoscaler/horizontal.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json
from simcluster.api.quantity import of_millicores, parse
from simcluster.control.horizontalpodautoscaler.metricsclient import MetricError, resource_metrics
from simcluster.control.horizontalpodautoscaler.replicas import Proposal, for_average_value, for_utilization

_NO_TARGET = (
    "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set"
)
_NO_CUSTOM = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
_NO_EXTERNAL = (
    "unable to fetch metrics from external metrics API: the server could not find the requested resource "
    "(get {}.external.metrics.k8s.io)"
)


#: Type of a metric -> the field that describes it.
_SOURCES = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
}


class Outcome(NamedTuple):
    """What came of one metric.

    Attributes:
        replicas: the proposal.
        name: how the metric is called in messages.
        status: entry of `status.currentMetrics`.
    """

    replicas: int
    name: str
    status: Json


class FailedMetric(Exception):
    """A metric that could not be computed.

    Attributes:
        reason: of the event and of the condition ScalingActive.
        cause: text of both.
        message: text for the event FailedComputeMetricsReplicas.
    """

    def __init__(self, reason: str, cause: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.cause = cause
        self.message = message


class Target(NamedTuple):
    """What is scaled: its present size, its pods and their selector."""

    replicas: int
    namespace: str
    selector: str
    pods: Sequence[ApiObject]


def compute(client: Client, metric: Mapping[str, Any], target: Target, now_ns: int) -> Outcome:
    """The proposal of one metric. Raises FailedMetric."""
    kind, source = metric["type"], _SOURCES.get(metric["type"])
    if source is None or source not in metric:
        cause = f'unknown metric source type "{kind}"'
        raise FailedMetric("InvalidMetricSourceType", cause, cause)
    if kind in ("Resource", "ContainerResource"):
        return _resource(client, metric, target, now_ns)
    if kind == "External":
        described = metric["external"]["metric"]
        about = f"{target.namespace}/{described['name']}/{_selector_text(described.get('selector'))}"
        cause = f"unable to get external metric {about}: {_NO_EXTERNAL.format(described['name'])}"
        raise FailedMetric("FailedGetExternalMetric", cause, f"failed to get external metric value: {cause}")
    if kind == "Object":
        described = metric["object"]
        about = f"{described['describedObject']['kind']} on {target.namespace} {described['describedObject']['name']}"
        cause = f"unable to get metric {described['metric']['name']}: {about}/{_NO_CUSTOM}"
        raise FailedMetric("FailedGetObjectMetric", cause, f"failed to get object metric value: {cause}")
    cause = f"unable to get metric {metric['pods']['metric']['name']}: {_NO_CUSTOM}"
    raise FailedMetric("FailedGetPodsMetric", cause, f"failed to get pods metric value: {cause}")


def _selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector as Go prints it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = ""
    for entry in selector.get("matchExpressions") or ():
        values = " ".join(entry.get("values") or ())
        key, operator = entry["key"], entry["operator"]
        expressions += f"LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
    shown = f"map[string]string{{{labels}}}"
    return f"&LabelSelector{{MatchLabels:{shown},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"


def _resource(client: Client, metric: Mapping[str, Any], target: Target, now_ns: int) -> Outcome:
    by_container = metric["type"] == "ContainerResource"
    field = _SOURCES[metric["type"]]
    source = metric[field]
    name, container = source["name"], source.get("container", "")
    noun = "container resource" if by_container else "resource"
    wanted = source["target"]
    reason = "FailedGetContainerResourceMetric" if by_container else "FailedGetResourceMetric"
    try:
        proposal, what = _propose(client, name, container, wanted, target, now_ns)
    except MetricError as error:
        cause = str(error)
        metric_name = f"{name} {noun}" if not by_container else f"{name} container"
        raise FailedMetric(reason, cause, f"failed to get {metric_name} metric value: {cause}") from None
    current: Json = {"averageValue": str(of_millicores(proposal.average))}
    if proposal.utilization is not None:
        current["averageUtilization"] = proposal.utilization
    shown: Json = {"name": name, "current": current}
    if by_container:
        shown["container"] = container
    return Outcome(proposal.replicas, f"{name} {noun}{what}", {"type": metric["type"], field: shown})


def _propose(
    client: Client, name: str, container: str, wanted: Mapping[str, Any], target: Target, now_ns: int
) -> tuple[Proposal, str]:
    """The proposal, and what follows the metric's name in messages. Raises MetricError."""
    by_value = wanted.get("averageValue") is not None
    if not by_value and wanted.get("averageUtilization") is None:
        raise MetricError(_NO_TARGET)
    try:
        try:
            metrics = resource_metrics(client, name, target.namespace, target.selector, container)
        except MetricError as error:
            raise MetricError(f"unable to get metrics for resource {name}: {error}") from None
        if by_value:
            value = parse(wanted["averageValue"]).milli
            return for_average_value(target.replicas, value, name, metrics, target.pods, now_ns), ""
        percent = int(wanted["averageUtilization"])
        proposal = for_utilization(target.replicas, percent, name, metrics, target.pods, now_ns, container)
    except MetricError as error:
        what = "usage" if by_value else "utilization"
        raise MetricError(f"failed to get {name} {what}: {error}") from None
    return proposal, " utilization (percentage of request)"
