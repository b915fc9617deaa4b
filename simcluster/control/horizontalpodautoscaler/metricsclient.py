"""Resource metrics of pods as the autoscaler reads them: requests to metrics.k8s.io.

Source: kubernetes pkg/controller/podautoscaler/metrics/client.go.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.client import Client
from simcluster.api.quantity import parse
from simcluster.api.request import Request
from simcluster.engine import parse_duration, parse_rfc3339


class MetricError(Exception):
    """A metric cannot be had or used; the message is the controller's."""


class PodMetric(NamedTuple):
    """One pod's usage.

    Attributes:
        t_ns: end of the window.
        value: thousandths of the resource's unit (millicores, thousandths of a byte).
    """

    t_ns: int
    window_ns: int
    value: int


def resource_metrics(
    client: Client, resource: str, namespace: str, selector: str, container: str = ""
) -> dict[str, PodMetric]:
    """Usage by pod name of the pods that a label selector selects.

    Args:
        container: measure only this container of each pod, not their sum.

    Raises:
        MetricError: the API does not answer, or has nothing.
    """
    path = client.api.resources.path("pods.metrics.k8s.io", namespace)
    query = (("labelSelector", selector),)
    response = client.api.handle(Request("GET", path, query, user=client.user, user_agent=client.agent))
    if not response.ok:
        if response.code == 404:
            message = "the server could not find the requested resource (get pods.metrics.k8s.io)"
        else:
            message = f"{response.body['message']} (get pods.metrics.k8s.io)"
        raise MetricError(f"unable to fetch metrics from resource metrics API: {message}")
    items = response.body["items"]
    if not items:
        raise MetricError("no metrics returned from resource metrics API")
    found: dict[str, PodMetric] = {}
    for item in items:
        usages = [entry for entry in item["containers"] if not container or entry["name"] == container]
        if not usages and container:
            raise MetricError(
                f"container {container} not present in metrics for pod {namespace}/{item['metadata']['name']}"
            )
        if any(resource not in entry["usage"] for entry in usages):
            continue
        value = sum(parse(entry["usage"][resource]).milli for entry in usages)
        found[item["metadata"]["name"]] = PodMetric(
            parse_rfc3339(item["timestamp"]), parse_duration(item["window"]), value
        )
    return found
