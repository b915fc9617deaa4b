"""The status of a pod, computed from its spec, the last relist, probe results and failures.

Pure functions: nothing here writes. Source: kubelet_pods.go (convertStatusToAPIStatus,
convertToAPIContainerStatuses, getPhase), status/generate.go; shapes checked against a
recorded 1.32 cluster. Leaves out: resize, allocated resources.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.objects import Json, transition_time
from simcluster.control.kubelet.podspec import (
    Pod,
    containers_of,
    ephemeral_containers_of,
    image_of,
    init_containers_of,
    is_sidecar,
    qos_class,
    restart_policy,
)
from simcluster.control.kubelet.runs import PodPicture, Run
from simcluster.engine import format_rfc3339


class Waiting(NamedTuple):
    """Why a container could not be started, from the last attempt (the kubelet's reason cache)."""

    reason: str
    message: str


class Observed(NamedTuple):
    """All that a status is made of, beside the pod and its last status.

    Attributes:
        picture: the last relist.
        waiting: container name -> why it could not be started.
        ready, started: container names whose running instance counts as such.
        now_ns: present instant.
        host_address: the node's.
        over: the pod was terminated: nothing of it will run again.
    """

    picture: PodPicture
    waiting: dict[str, Waiting]
    ready: dict[str, bool]
    started: dict[str, bool]
    now_ns: int
    host_address: str
    over: bool = False


def pod_status(pod: Pod, last: Json, seen: Observed) -> Json:
    """The complete `status`; `last` is the previous one (kept: start time, transitions)."""
    inits, mains = init_containers_of(pod), containers_of(pod)
    old = {
        entry["name"]: entry for key in ("initContainerStatuses", "containerStatuses") for entry in last.get(key, ())
    }
    init_statuses = [_container(pod, c, old.get(c["name"]), seen, init=True) for c in inits]
    statuses = [_container(pod, c, old.get(c["name"]), seen, init=False) for c in mains]
    phase = _phase(pod, inits, init_statuses, statuses, over=seen.over)
    if last.get("phase") in ("Failed", "Succeeded"):  # terminal phases never change
        phase = last["phase"]
    status: Json = {"phase": phase, "conditions": _conditions(pod, last, seen, phase, inits, init_statuses, statuses)}
    status["hostIP"] = seen.host_address
    status["hostIPs"] = [{"ip": seen.host_address}]
    address = seen.picture.address or last.get("podIP")
    if address:
        status["podIP"] = address
        status["podIPs"] = [{"ip": address}]
    status["startTime"] = last.get("startTime") or format_rfc3339(seen.now_ns)
    if inits:
        status["initContainerStatuses"] = init_statuses
    status["containerStatuses"] = statuses
    debuggers = ephemeral_containers_of(pod)
    if debuggers:
        known = {entry["name"]: entry for entry in last.get("ephemeralContainerStatuses") or ()}
        status["ephemeralContainerStatuses"] = [_debugger(pod, c, known.get(c["name"]), seen) for c in debuggers]
    status["qosClass"] = last.get("qosClass") or qos_class(pod)
    for key in ("reason", "message"):
        if key in last:
            status[key] = last[key]
    return status


def _container(pod: Pod, container: Json, old: Json | None, seen: Observed, *, init: bool) -> Json:
    name = container["name"]
    runs = seen.picture.runs.get(name, ())
    run = runs[0] if runs else None
    state, last_state = _states(pod, run, runs, old)
    waiting = seen.waiting.get(name)
    if waiting is not None and (run is None or run.state != "running"):
        if "terminated" in state:
            last_state = state
        state = {"waiting": {"reason": waiting.reason}}
        if waiting.message:
            state["waiting"]["message"] = waiting.message
    running = "running" in state
    started = running and seen.started.get(name, False)
    if init and not is_sidecar(container):
        ready = "terminated" in state and state["terminated"]["exitCode"] == 0
    else:
        ready = started and seen.ready.get(name, False)
    status: Json = {"name": name, "state": state, "lastState": last_state, "ready": ready}
    status["restartCount"] = max(run.attempt if run else 0, old["restartCount"] if old else 0)
    status["image"] = run.image_name if run else image_of(container)
    status["imageID"] = run.image_id if run else ""
    if run is not None:
        status["containerID"] = f"containerd://{run.container_id}"
    status["started"] = started
    mounts = _volume_mounts(container)
    if mounts:
        status["volumeMounts"] = mounts
    return status


def _debugger(pod: Pod, container: Json, old: Json | None, seen: Observed) -> Json:
    """Of an ephemeral container, which is never ready and has no startup."""
    status = _container(pod, container, old, seen, init=False)
    status["ready"] = False
    del status["started"]
    return status


def _states(pod: Pod, run: Run | None, runs: tuple[Run, ...], old: Json | None) -> tuple[Json, Json]:
    last_state: Json = {}
    if len(runs) > 1:
        last_state = {"terminated": _terminated(runs[1])}
    elif old is not None and run is not None and run.attempt > 0:
        last_state = old["lastState"]
    if run is None or run.state == "created":
        if old is not None and "terminated" in old["state"]:  # its container was removed by somebody
            return old["state"], old["lastState"]
        reason = "PodInitializing" if init_containers_of(pod) else "ContainerCreating"
        return {"waiting": {"reason": reason}}, last_state
    if run.state == "running":
        return {"running": {"startedAt": format_rfc3339(run.started_ns)}}, last_state
    return {"terminated": _terminated(run)}, last_state


def _terminated(run: Run) -> Json:
    state: Json = {"exitCode": run.exit_code, "reason": run.reason}
    if run.message:
        state["message"] = run.message
    # A container whose start failed has no start: the zero time of the runtime is the epoch.
    state["startedAt"] = format_rfc3339(run.started_ns) if run.reason != "StartError" else "1970-01-01T00:00:00Z"
    state["finishedAt"] = format_rfc3339(run.finished_ns)
    state["containerID"] = f"containerd://{run.container_id}"
    return state


def _volume_mounts(container: Json) -> list[Json]:
    mounts = []
    for entry in container.get("volumeMounts") or ():
        mount: Json = {"name": entry["name"], "mountPath": entry["mountPath"]}
        if entry.get("readOnly"):
            mount["readOnly"] = True
            mount["recursiveReadOnly"] = entry.get("recursiveReadOnly", "Disabled")
        mounts.append(mount)
    return mounts


def _phase(pod: Pod, inits: list[Json], init_statuses: list[Json], statuses: list[Json], *, over: bool) -> str:
    pending_init, failed_init = _count_init(inits, init_statuses)
    policy = restart_policy(pod)
    if failed_init and policy == "Never":
        return "Failed"
    waiting = running = stopped = succeeded = 0
    for status in statuses:
        state = status["state"]
        if "running" in state:
            running += 1
        elif "terminated" in state:
            stopped += 1
            succeeded += state["terminated"]["exitCode"] == 0
        elif "terminated" in status["lastState"]:
            stopped += 1
        else:
            waiting += 1
    if pending_init or waiting:
        return "Pending"
    if running:
        return "Running"
    if not stopped:
        return "Pending"
    if policy == "Always" and not over:
        return "Running"
    if stopped == succeeded:
        return "Succeeded"
    return "Failed" if policy == "Never" or over else "Running"


def _count_init(inits: list[Json], statuses: list[Json]) -> tuple[int, int]:
    pending = failed = 0
    for container, status in zip(inits, statuses, strict=True):
        state = status["state"]
        if is_sidecar(container):
            pending += not status["started"] and "terminated" not in state
        elif "terminated" in state:
            failed += state["terminated"]["exitCode"] != 0
        elif "running" in state:
            pending += 1
        elif "terminated" in status["lastState"]:
            failed += status["lastState"]["terminated"]["exitCode"] != 0
        else:
            pending += 1
    return pending, failed


def _conditions(
    pod: Pod,
    last: Json,
    seen: Observed,
    phase: str,
    inits: list[Json],
    init_statuses: list[Json],
    statuses: list[Json],
) -> list[Json]:
    has_network = bool(seen.picture.address)
    pairs = list(zip(inits, init_statuses, strict=True))
    incomplete = [s["name"] for c, s in pairs if not s["started" if is_sidecar(c) else "ready"]]
    sidecars = [s for c, s in pairs if is_sidecar(c)]
    unready = [s["name"] for s in [*sidecars, *statuses] if not s["ready"]]
    began = any("running" in s["state"] or "terminated" in s["state"] for s in statuses)
    initialized = (
        ("True", "", "")
        if not incomplete or began
        else ("False", "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]")
    )
    ready = (
        ("True", "", "")
        if not unready
        else ("False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    )
    if phase == "Succeeded":
        initialized, ready = ("True", "PodCompleted", ""), ("False", "PodCompleted", "")
    elif phase == "Failed":
        ready = ("False", "PodFailed", "")
    gated = ready if ready[0] != "True" else _gates(pod, last)
    wanted = {
        "PodReadyToStartContainers": ("True" if has_network else "False", "", ""),
        "Initialized": initialized,
        "Ready": gated,
        "ContainersReady": ready,
        "PodScheduled": ("True", "", ""),
    }
    old = {entry.get("type"): entry for entry in last.get("conditions") or ()}
    result = [_condition(kind, value, old.get(kind), seen.now_ns) for kind, value in wanted.items()]
    return result + [entry for kind, entry in old.items() if kind not in wanted]


def _gates(pod: Pod, last: Json) -> tuple[str, str, str]:
    true = {c.get("type") for c in last.get("conditions") or () if c.get("status") == "True"}
    missing = [g["conditionType"] for g in pod["spec"].get("readinessGates") or () if g["conditionType"] not in true]
    if not missing:
        return ("True", "", "")
    listed = ", ".join(f'corresponding condition of pod readiness gate "{kind}" does not exist.' for kind in missing)
    return ("False", "ReadinessGatesNotReady", listed)


def _condition(kind: str, value: tuple[str, str, str], old: Json | None, now_ns: int) -> Json:
    status, reason, message = value
    entry: Json = {"type": kind, "status": status, "lastProbeTime": None}
    entry["lastTransitionTime"] = transition_time(old, status, format_rfc3339(now_ns))
    if reason:
        entry["reason"] = reason
    if message:
        entry["message"] = message
    return entry
