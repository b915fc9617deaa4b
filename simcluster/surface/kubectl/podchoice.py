"""Which pod and which container `logs` and `exec` mean: `pod`, `deploy/x`, `svc/x`, default container."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.objects import Json, condition, is_pod_ready, name_of
from simcluster.api.selectors import format_selector
from simcluster.surface.kubectl.describe.page import format_map
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.invocation import Invocation, query_of
from simcluster.surface.kubectl.selection import of_arguments

_DEFAULT = "kubectl.kubernetes.io/default-container"


class ContainerRef(NamedTuple):
    """One container of a pod, and its fieldPath."""

    name: str
    field_path: str


def containers_of(pod: Json) -> list[ContainerRef]:
    """All containers: init containers, containers, ephemeral ones, in the order of --all-containers."""
    found: list[ContainerRef] = []
    for key in ("initContainers", "containers", "ephemeralContainers"):
        found.extend(ContainerRef(c["name"], f"spec.{key}{{{c['name']}}}") for c in pod["spec"].get(key) or ())
    return found


def pods_behind(invocation: Invocation, word: str, *, for_logs: bool = False) -> tuple[list[Json], bool]:
    """The pods that a POD or TYPE/NAME argument means, best first; whether it was a pod's own name.

    Raises:
        KubectlError: nothing of that name, or no pods behind it.
    """
    entry = of_arguments(invocation, [word] if "/" in word else ["pods", word])[0]
    obj = invocation.named(entry.path)
    if entry.resource.name == "pods":
        return [obj], True
    selector = obj.get("spec", {}).get("selector")
    if entry.resource.name == "services":
        if not selector:
            said = "cannot get the logs from *v1.Service: " if for_logs else ""
            raise plain(f"{said}invalid service '{entry.name}': Service is defined without a selector")
        text = ",".join(f"{key}={selector[key]}" for key in sorted(selector))
    elif entry.resource.name == "replicationcontrollers":
        text = format_map(selector)
    elif isinstance(selector, dict):
        text = format_selector(selector)
    else:
        kind = f"*{entry.resource.version}.{entry.resource.kind}"
        said = f"cannot get the logs from {kind}: " if for_logs else ""
        raise plain(f"{said}selector for {kind} not implemented")
    path = f"/api/v1/namespaces/{entry.namespace}/pods"
    pods = invocation.items(path, query_of(labelSelector=text))
    if not pods:
        raise plain("timed out waiting for the condition")
    return _ranked(pods, for_logs=for_logs), False


def _ranked(pods: list[Json], *, for_logs: bool) -> list[Json]:
    """The order in which pods are chosen: running, ready for long, old; for logs the one that restarted most.

    Source: k8s.io/kubectl/pkg/util/podutils, ByLogging and (reversed) ActivePods.
    """
    return sorted(pods, key=_log_rank if for_logs else _rank)


def _rank(pod: Json) -> tuple[bool, int, bool, str, int, str]:
    status = pod.get("status") or {}
    order = {"Running": 0, "Unknown": 1}.get(status.get("phase", ""), 2)
    ready = condition(pod, "Ready") or {}
    since = str(ready.get("lastTransitionTime") or "") if is_pod_ready(pod) else ""
    restarts = max((entry.get("restartCount", 0) for entry in status.get("containerStatuses") or ()), default=0)
    created = str(pod["metadata"].get("creationTimestamp") or "")
    return (not pod["spec"].get("nodeName"), order, not is_pod_ready(pod), since, restarts, created)


def _log_rank(pod: Json) -> tuple[bool, int, bool, str, int, str]:
    unassigned, _, unready, since, restarts, created = _rank(pod)
    # What has ended is as good as what runs.
    order = {"Unknown": 1, "Pending": 2}.get((pod.get("status") or {}).get("phase", ""), 0)
    return (unassigned, order, unready, since, -restarts, created)


def default_container(invocation: Invocation, pod: Json, *, quiet: bool = False) -> str:
    """The container meant when none is named, and the line that says so."""
    wanted = (pod["metadata"].get("annotations") or {}).get(_DEFAULT)
    names = [container["name"] for container in pod["spec"]["containers"]]
    if wanted in names:
        return str(wanted)
    if len(containers_of(pod)) > 1 and not quiet:
        inits = [f"{container['name']} (init)" for container in pod["spec"].get("initContainers") or ()]
        ephemeral = [f"{container['name']} (ephem)" for container in pod["spec"].get("ephemeralContainers") or ()]
        listed = ", ".join([*names, *ephemeral, *inits])
        invocation.note(f'Defaulted container "{names[0]}" out of: {listed}')
    return str(names[0])


def choose_pod(invocation: Invocation, word: str, *, quiet: bool = False) -> Json:
    """One pod; `logs` says which one if there were several, `exec` does not. Raises KubectlError."""
    pods, _ = pods_behind(invocation, word, for_logs=not quiet)
    if len(pods) > 1 and not quiet:
        invocation.note(f"Found {len(pods)} pods, using pod/{name_of(pods[0])}")
    return pods[0]
