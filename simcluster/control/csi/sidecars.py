"""Which CSI sidecars run where, read from the pods of the drivers.

A driver's node pod has a `csi-node-driver-registrar` that registers the plugin's socket
`/var/lib/kubelet/plugins/DRIVER/csi.sock`; its controller pod has a `csi-provisioner`, a
`csi-attacher` and a `csi-resizer`. A driver is known here by that folder, or by the argument
`--drivername` of a container of the pod.
Source: kubernetes-csi/{node-driver-registrar,external-attacher} and manifests of their users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simcluster.api.objects import ApiObject, Json, is_terminating, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change, Store
from simcluster.control.controller import Informer
from simcluster.engine import Simulation

#: Names of the images, upstream and in EKS Distro.
REGISTRAR = ("csi-node-driver-registrar", "node-driver-registrar")
ATTACHER = ("csi-attacher", "external-attacher")
RESIZER = ("csi-resizer", "external-resizer")
PROVISIONER = ("csi-provisioner", "external-provisioner")
_SIDECARS = (*REGISTRAR, *ATTACHER, *RESIZER, *PROVISIONER)
#: Sidecars that only watch.
_WATCHERS = ("livenessprobe", "csi-external-health-monitor-controller", "snapshot-controller")
_NAME_FLAGS = ("drivername", "driver-name")
_LIMIT_FLAGS = ("volume-attach-limit", "attach-limit", "maxvolumespernode", "max-volumes-per-node")


class SidecarPods(Informer):
    """Changes of pods that have a CSI sidecar."""

    def __init__(self, sim: Simulation, api: Api, name: str, handler: Callable[[Change], None]) -> None:
        super().__init__(sim, name, "pods", handler)
        for pod in api.store.objects("pods"):
            self.notify(Change("ADDED", "pods", pod, None, int(pod["metadata"]["resourceVersion"])))
        api.store.subscribe("pods", self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        containers = change.object["spec"]["containers"]
        if len(containers) > 1 and any(program_of(container) in _SIDECARS for container in containers):
            super().notify(change)


def program_of(container: Json) -> str:
    """The last part of a container's image name."""
    return str(container.get("image") or "").rpartition("/")[2].partition("@")[0].partition(":")[0]


def is_running(pod: ApiObject, programs: tuple[str, ...]) -> bool:
    """Whether the pod's container of one of these programs runs."""
    if is_terminating(pod):
        return False
    names = [container["name"] for container in pod["spec"]["containers"] if program_of(container) in programs]
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(entry["name"] in names and "running" in (entry.get("state") or {}) for entry in statuses)


def serving_pod(store: Store, driver: str, programs: tuple[str, ...]) -> ApiObject | None:
    """A pod where one of these sidecars runs for the driver, and the driver beside it too.

    A sidecar whose driver is gone ends itself, and waits for it when it is started again.
    """
    for pod in store.objects("pods"):
        several = len(pod["spec"]["containers"]) > 1
        if several and is_running(pod, programs) and driver_of(store, pod) == driver and _has_driver(pod):
            return pod
    return None


def _has_driver(pod: ApiObject) -> bool:
    helpers = [c["name"] for c in pod["spec"]["containers"] if program_of(c) in (*_SIDECARS, *_WATCHERS)]
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return all("running" in (entry.get("state") or {}) for entry in statuses if entry["name"] not in helpers)


def driver_of(store: Store, pod: ApiObject) -> str:
    """The driver that a pod belongs to: by its own arguments, else by its namespace's node pods."""
    found = _own_driver(pod)
    if found:
        return found
    for other in store.objects("pods", namespace_of(pod)):
        found = _own_driver(other)
        if found:
            return found
    return ""


def attach_limit(pod: ApiObject) -> int:
    """How many volumes the plugin attaches to a node; 0 if it sets no limit."""
    for flag, value in _flags(pod):
        if flag in _LIMIT_FLAGS and value.isdigit():
            return int(value)
    return 0


def _own_driver(pod: ApiObject) -> str:
    for flag, value in _flags(pod):
        if flag in _NAME_FLAGS and value:
            return value
    for flag, value in _flags(pod):
        if flag == "kubelet-registration-path":
            return value.rpartition("/")[0].rpartition("/")[2]
    return ""


def _flags(pod: ApiObject) -> Iterator[tuple[str, str]]:
    for container in pod["spec"]["containers"]:
        for word in (*(container.get("command") or ()), *(container.get("args") or ())):
            name, equals, value = str(word).lstrip("-").partition("=")
            if equals:
                yield name, value
