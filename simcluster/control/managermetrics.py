"""Metrics of the controller manager: the work queues of its controllers.

Names, buckets and help texts: component-base's workqueue metrics and client-go's leader election, 1.32. Left out: what
single controllers count.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from simcluster.control.controller import Controller
from simcluster.control.workqueue import BOUNDS
from simcluster.telemetry.metrics.columns import Columns, Group, Row, Samples, counter, gauge, histogram, labels

_QUEUE = Columns(
    (
        counter("workqueue_adds_total", "[ALPHA] Total number of adds handled by workqueue"),
        gauge("workqueue_depth", "[ALPHA] Current depth of workqueue"),
        counter("workqueue_retries_total", "[ALPHA] Total number of retries handled by workqueue"),
        histogram("workqueue_queue_duration_seconds", "[ALPHA] How long in seconds an item stays in workqueue before "
                  "being requested.", BOUNDS.shown),
        histogram("workqueue_work_duration_seconds", "[ALPHA] How long in seconds processing an item from workqueue "
                  "takes.", BOUNDS.shown),
    )
)  # fmt: skip
LEADER = Columns(
    (
        gauge("leader_election_master_status", "[ALPHA] Gauge of if the reporting system is master of the relevant "
              "lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please "
              "make sure to group by name."),
    )
)  # fmt: skip
#: Queues whose names are not those of their controllers (pkg/controller: Name of the queue's config).
_NAMES = {
    "deployment-controller": "deployment", "replicaset-controller": "replicaset", "statefulset-controller":
    "statefulset", "daemonset-controller": "daemonset", "job-controller": "job", "namespace-controller": "namespace",
    "endpoints-controller": "endpoint", "endpointslice-controller": "endpoint_slice", "cronjob-controller": "cronjob",
    "serviceaccount-controller": "serviceaccount", "disruption-controller": "disruption",
    "horizontal-pod-autoscaler-controller": "horizontalpodautoscaler", "node-lifecycle-controller":
    "node_lifecycle_controller", "garbage-collector-controller": "garbage_collector_attempt_to_delete",
    "persistentvolume-binder-controller": "volumes",
}  # fmt: skip


@functools.cache
def _group(name: str) -> Group:
    return Group(_QUEUE, labels(name=_NAMES.get(name, name.removesuffix("-controller").replace("-", "_"))))


def samples(controllers: Mapping[str, Controller]) -> Samples:
    """The queues of running controllers, and that their process leads."""
    found: dict[Group, Row] = {Group(LEADER, labels(name="kube-controller-manager")): LEADER.row((1,))}
    for name, controller in controllers.items():
        queue = controller.queue
        numbers = (queue.adds, queue.depth, queue.retried, *queue.waits.numbers(), *queue.works.numbers())
        found[_group(name)] = _QUEUE.row(numbers)
    return found
