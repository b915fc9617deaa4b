"""Which pod and which container `logs` and `exec` mean: `pod`, `deploy/x`, `svc/x`, default container."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.objects import Json, is_pod_ready, name_of
from simcluster.surface.kubectl.describe.page import format_map, format_selector
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


def pods_behind(invocation: Invocation, word: str) -> tuple[list[Json], bool]:
    """The pods that a POD or TYPE/NAME argument means, best first; whether it was a pod's own name.

    Raises:
        KubectlError: nothing of that name, or no pods behind it.
    """
    entry = of_arguments(invocation, [word] if "/" in word else ["pods", word])[0]
    obj = invocation.get(entry.path)
    if entry.resource.name == "pods":
        return [obj], True
    selector = obj.get("spec", {}).get("selector")
    if entry.resource.name == "services":
        if not selector:
            raise plain(f"invalid service '{entry.name}': Service is defined without a selector")
        text = ",".join(f"{key}={selector[key]}" for key in sorted(selector))
    elif entry.resource.name == "replicationcontrollers":
        text = format_map(selector)
    elif isinstance(selector, dict):
        text = format_selector(selector)
    else:
        group = f"{entry.resource.group}/" if entry.resource.group else "/"
        raise plain(
            f"cannot get the logs from {group}{entry.resource.version}, Kind={entry.resource.kind}: "
            f"selector for {entry.resource.kind} not implemented"
        )
    path = f"/api/v1/namespaces/{entry.namespace}/pods"
    pods = invocation.items(path, query_of(labelSelector=text))
    if not pods:
        raise plain("timed out waiting for the condition")
    return _ranked(pods), False


def _ranked(pods: list[Json]) -> list[Json]:
    """Active and ready pods first, then the youngest.

    Source: k8s.io/kubectl/pkg/util/podutils, ByLogging.
    """
    youngest_first = sorted(pods, key=_created, reverse=True)
    return sorted(youngest_first, key=_rank)


def _created(pod: Json) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")


def _rank(pod: Json) -> tuple[bool, int, bool]:
    phase = (pod.get("status") or {}).get("phase", "")
    order = {"Running": 0, "Unknown": 1, "Pending": 2}.get(phase, 3)
    return (not pod["spec"].get("nodeName"), order, not is_pod_ready(pod))


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
    pods, _ = pods_behind(invocation, word)
    if len(pods) > 1 and not quiet:
        invocation.note(f"Found {len(pods)} pods, using pod/{name_of(pods[0])}")
    return pods[0]
