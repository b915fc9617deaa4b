"""One step of a StatefulSet towards its spec: which pods to create, delete or wait for.

The walk goes over the wanted ordinals upwards, then over the surplus pods downwards, then
over the pods to update downwards, and stops at the first thing it has to wait for.
Source: kubernetes pkg/controller/statefulset/stateful_set_control.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, is_terminating
from simcluster.control.pods.status import is_terminal, phase_of
from simcluster.control.statefulset.identity import (
    first_ordinal,
    has_identity,
    is_in_range,
    is_monotonic,
    is_on_delete,
    new_pod,
    ordinal_of,
    partition_of,
    pods_from_current,
    replicas_of,
    revision_of,
)
from simcluster.control.statefulset.podcontrol import StatefulPodControl
from simcluster.control.statefulset.status import is_running_and_available, is_running_and_ready

#: Where pods need not wait for each other they are tried in batches of 1, 2, 4, … and at most so many; a batch of which
#: one fails is the last (`slowStartBatch`, `MaxBatchSize`).
BATCH_MAX = 500


class Revision:
    """A revision's name and its pod template."""

    def __init__(self, name: str, template: Json) -> None:
        self.name = name
        self.template = template


class Walk:
    """One pass over the pods of one StatefulSet.

    Args:
        pods: all pods of the set.
        current, update: the revision being left and the one being reached.

    Attributes:
        deleted_for_update: whether the pass deleted a pod to update it.
    """

    def __init__(
        self,
        control: StatefulPodControl,
        stateful_set: ApiObject,
        pods: Sequence[ApiObject],
        current: Revision,
        update: Revision,
        now_ns: int,
    ) -> None:
        self.control = control
        self.stateful_set = stateful_set
        self.current = current
        self.update = update
        self.now_ns = now_ns
        self.monotonic = is_monotonic(stateful_set)
        self.start = first_ordinal(stateful_set)
        self.replicas: list[ApiObject | None] = [None] * replicas_of(stateful_set)
        self.condemned: list[ApiObject] = []
        self.deleted_for_update = False
        for pod in pods:
            if is_in_range(pod, stateful_set):
                self.replicas[ordinal_of(pod) - self.start] = pod
            elif ordinal_of(pod) >= 0:
                self.condemned.append(pod)
        self.condemned.sort(key=ordinal_of, reverse=True)
        self.first_unhealthy = self._first_unhealthy()

    def run(self) -> ApiError | None:
        """Make the pass; the first error that stopped it, or None."""
        try:
            if self._each_replica() or self._each_condemned():
                return None
            if not is_on_delete(self.stateful_set):
                self._update_one()
        except ApiError as error:
            return error
        return None

    # Wanted pods, in the order of their ordinals.

    def _each_replica(self) -> bool:
        if self.monotonic:
            return any(self._process_replica(index) for index in range(len(self.replicas)))
        index, size = 0, 1
        while index < len(self.replicas):
            batch = range(index, min(index + size, len(self.replicas)))
            failures = [error for error in map(self._attempt, batch) if error is not None]
            if failures:
                raise failures[0]
            index, size = batch.stop, min(2 * size, BATCH_MAX)
        return False

    def _attempt(self, index: int) -> ApiError | None:
        try:
            self._process_replica(index)
        except ApiError as error:
            return error
        return None

    def _process_replica(self, index: int) -> bool:
        """Bring one ordinal forward; whether an ordered set has to wait for it."""
        pod = self.replicas[index]
        if pod is None:
            fresh = self._new_pod(index)
            if self.control.has_stale_claim(self.stateful_set, fresh):
                return True
            self.control.create(self.stateful_set, fresh)
            return True
        if is_terminal(pod):
            if not is_terminating(pod):
                self.control.delete(self.stateful_set, pod)
            return True
        if phase_of(pod) == "Pending" and not is_terminating(pod):
            self.control.create_missing_claims(self.stateful_set, str(pod["metadata"]["name"]))
        if self.monotonic and (is_terminating(pod) or not self._is_available(pod)):
            return True
        if not self._is_as_wanted(pod):
            self.control.repair(self.stateful_set, pod)
        return False

    def _new_pod(self, index: int) -> Json:
        revision = self.current if index < pods_from_current(self.stateful_set) else self.update
        return new_pod(self.stateful_set, revision.template, revision.name, self.start + index)

    def _is_available(self, pod: ApiObject) -> bool:
        seconds = self.stateful_set["spec"].get("minReadySeconds", 0)
        return is_running_and_ready(pod) and is_running_and_available(pod, seconds, self.now_ns)

    def _is_as_wanted(self, pod: ApiObject) -> bool:
        return (
            has_identity(self.stateful_set, pod)
            and self.control.has_storage(self.stateful_set, pod)
            and self.control.has_retention(self.stateful_set, pod)
        )

    # Surplus pods, from the highest ordinal.

    def _each_condemned(self) -> bool:
        for pod in self.condemned:
            if not self.control.has_retention(self.stateful_set, pod):
                self.control.apply_retention(self.stateful_set, pod)
        for pod in self.condemned:
            if is_terminating(pod):
                if self.monotonic:
                    return True
                continue
            if self.monotonic and not self._is_available(pod) and pod is not self.first_unhealthy:
                return True
            self.control.delete(self.stateful_set, pod)
            if self.monotonic:
                return True
        return False

    def _first_unhealthy(self) -> ApiObject | None:
        """The unhealthy pod of the lowest ordinal."""
        pods = [pod for pod in self.replicas if pod is not None] + self.condemned[::-1]
        for pod in sorted(pods, key=ordinal_of):
            if not is_running_and_ready(pod) or is_terminating(pod):
                return pod
        return None

    # Pods of the old revision, from the highest ordinal, one at a time.

    def _update_one(self) -> None:
        for pod in reversed(self.replicas[partition_of(self.stateful_set) :]):
            if pod is None:
                return
            if revision_of(pod) != self.update.name and not is_terminating(pod):
                self.control.delete(self.stateful_set, pod)
                self.deleted_for_update = True
                return
            if not is_running_and_ready(pod) or is_terminating(pod):
                return
