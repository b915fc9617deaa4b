"""The row of a Pod: readiness, the STATUS word, restarts and when the last one was.

Source: pkg/printers/internalversion/printers.go, printPod (Kubernetes 1.32).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject
from simcluster.api.printing.cells import NONE, Obj, Printer, age, columns, instant, since

_COMPLETED = {
    "Succeeded": ("Succeeded", "The pod has completed successfully."),
    "Failed": ("Failed", "The pod failed."),
}


class _Summary:
    """What the container statuses of one pod add up to."""

    def __init__(self, pod: Obj) -> None:
        status, spec = pod.get("status") or {}, pod["spec"]
        self.status = status
        self.phase = status.get("phase") or ""
        self.reason: str = status.get("reason") or self.phase
        self.restarts = 0
        self.ready = 0
        self.total = len(spec.get("containers") or ())
        self.last_restart = ""
        for entry in status.get("conditions") or ():
            if entry["type"] == "PodScheduled" and entry.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        init = spec.get("initContainers")
        initializing = self._init(init, status.get("initContainerStatuses") or ()) if init else False
        if not initializing or _is_true(status, "Initialized"):
            self._main(status.get("containerStatuses") or ())
        if "deletionTimestamp" in pod["metadata"]:
            if status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif self.phase not in ("Succeeded", "Failed"):
                self.reason = "Terminating"

    def _terminated(self, container: Obj) -> None:
        last = (container.get("lastState") or {}).get("terminated")
        finished = last.get("finishedAt") if last else None
        if finished and (not self.last_restart or instant(self.last_restart) < instant(finished)):
            self.last_restart = finished

    def _init(self, specs: Sequence[Any], statuses: Sequence[Any]) -> bool:
        """Whether the pod still initializes; counts restarts of (restartable) init containers."""
        restartable = {c["name"] for c in specs if c.get("restartPolicy") == "Always"}
        self.total += len(restartable)
        sidecars = [s for s in statuses if s["name"] in restartable]
        initializing = False
        for index, container in enumerate(statuses):
            self.restarts += container.get("restartCount", 0)
            self._terminated(container)
            is_sidecar = container["name"] in restartable
            outcome = _init_reason(container, is_sidecar, index, len(specs))
            if outcome is None:
                if is_sidecar and container.get("started") and container.get("ready"):
                    self.ready += 1
                continue
            self.reason, initializing = outcome, True
            break
        if not initializing or _is_true(self.status, "Initialized"):
            self.restarts, self.last_restart = 0, ""
            for container in sidecars:
                self.restarts += container.get("restartCount", 0)
                self._terminated(container)
        return initializing

    def _main(self, statuses: Sequence[Any]) -> None:
        running = False
        for container in reversed(statuses):
            self.restarts += container.get("restartCount", 0)
            self._terminated(container)
            state = container.get("state") or {}
            waiting, terminated = state.get("waiting"), state.get("terminated")
            if waiting and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated:
                self.reason = _exit_reason(terminated)
            elif container.get("ready") and "running" in state:
                running = True
                self.ready += 1
        if self.reason == "Completed" and running:
            self.reason = "Running" if _is_true(self.status, "Ready") else "NotReady"


def _is_true(status: Obj, kind: str) -> bool:
    return any(c["type"] == kind and c["status"] == "True" for c in status.get("conditions") or ())


def _exit_reason(terminated: Obj) -> str:
    reason: str = terminated.get("reason") or ""
    if reason:
        return reason
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _init_reason(container: Obj, is_sidecar: bool, index: int, total: int) -> str | None:
    """Why initialization stands at this container, or None if it is past it."""
    state = container.get("state") or {}
    terminated, waiting = state.get("terminated"), state.get("waiting")
    if terminated is not None and terminated.get("exitCode", 0) == 0:
        return None
    if is_sidecar and container.get("started"):
        return None
    if terminated is not None:
        return f"Init:{_exit_reason(terminated)}"
    if waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
        return f"Init:{waiting['reason']}"
    return f"Init:{index}/{total}"


class _Printed(NamedTuple):
    """All that a row says but for what time has passed."""

    name: str
    ready: str
    reason: str
    restarts: int
    last_restart: str
    address: str
    node: str
    nominated: str
    gates: str


def _printed(pod: Obj) -> _Printed:
    """Worked out once for each object of the store: people list pods again and again."""
    known = getattr(pod, "printed", None)
    if isinstance(known, _Printed):
        return known
    summary, spec = _Summary(pod), pod["spec"]
    status = summary.status
    addresses = status.get("podIPs")
    gates = spec.get("readinessGates")
    found = _Printed(
        pod["metadata"]["name"],
        f"{summary.ready}/{summary.total}",
        summary.reason,
        summary.restarts,
        summary.last_restart,
        (addresses[0].get("ip") if addresses else status.get("podIP")) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{sum(_is_true(status, g['conditionType']) for g in gates)}/{len(gates)}" if gates else NONE,
    )
    if isinstance(pod, ApiObject):
        pod.printed = found
    return found


def pod_cells(pod: Obj, now_ns: int) -> list[Any]:
    """All nine cells."""
    row = _printed(pod)
    restarts = str(row.restarts)
    if row.restarts and row.last_restart:
        restarts = f"{restarts} ({since(row.last_restart, now_ns)} ago)"
    passed = age(pod, now_ns)
    return [row.name, row.ready, row.reason, restarts, passed, row.address, row.node, row.nominated, row.gates]


def pod_row_conditions(pod: Obj) -> list[dict[str, str]] | None:
    """The row's own conditions: kubectl may hide or mark finished pods by them."""
    found = _COMPLETED.get((pod.get("status") or {}).get("phase", ""))
    if found is None:
        return None
    return [{"type": "Completed", "status": "True", "reason": found[0], "message": found[1]}]


POD = Printer(
    columns("Ready", "Status", "Restarts", "Age", wide=("IP", "Node", "Nominated Node", "Readiness Gates")),
    pod_cells,
)
