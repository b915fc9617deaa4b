"""Stopping containers: preStop, SIGTERM, grace period, SIGKILL; and terminating a whole pod.

Source: kuberuntime_container.go (killContainer), kubelet.go (SyncTerminatingPod,
SyncTerminatedPod). Sidecars stop after the other containers, in reverse order. Leaves out:
stop signals of images.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simcluster.api.objects import Json, is_terminating
from simcluster.control.kubelet.podspec import (
    container_named,
    containers_of,
    init_containers_of,
    is_sidecar,
)
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.runtime import RuntimeFailure

if TYPE_CHECKING:
    from simcluster.control.kubelet.podworker import PodWorker

#: A container gets at least this long after its preStop hook (minimumGracePeriodInSeconds).
_MINIMUM_GRACE_NS = 2 * SECOND
_RETRY_NS = 10 * SECOND
#: From the call to the runtime until the process has its signal (containerd starts a shim's `runc kill`), and
#: from its exit until the call returns. A recorded node took 93 to 102 ms for both, and a restart back-off that
#: counts from the exit 80 s earlier was still running then: nearly all of it lies before the exit.
_SIGNAL_NS = (74 * MILLISECOND, 92 * MILLISECOND)
_RETURN_NS = (MILLISECOND, 4 * MILLISECOND)


class Stop:
    """The stop of one running container; calls `done` when it is gone."""

    def __init__(self, worker: PodWorker, container: Container, grace_ns: int, done: Callable[[], None]) -> None:
        self.worker = worker
        self.container = container
        self.grace_ns = grace_ns
        self.done = done
        self._signalled = False
        self._over = False

    def begin(self) -> None:
        """Run the preStop hook, then signal."""
        spec = container_named(self.worker.pod, self.container.spec.name)
        hook: Json | None = (spec.get("lifecycle") or {}).get("preStop")
        if hook is None or not self.grace_ns:
            self._call(self.grace_ns)
            return
        used_ns = min(self.grace_ns, self.worker.run_hook(spec, hook, self.container, "PreStop"))
        self.worker.kubelet.sim.after(used_ns, self._call, max(_MINIMUM_GRACE_NS, self.grace_ns - used_ns))

    def _call(self, grace_ns: int) -> None:
        self.worker.kubelet.sim.after(self.worker.stream.uniform_ns(*_SIGNAL_NS), self._signal, grace_ns)

    def _signal(self, grace_ns: int) -> None:
        if self._signalled or self.worker.dead:
            return
        try:
            self.worker.kubelet.machine.runtime.stop_container(self.container, grace_ns)
        except RuntimeFailure:
            self.worker.kubelet.sim.after(_RETRY_NS, self._signal, grace_ns)
            return
        self._signalled = True
        self.check()

    def shorten(self, grace_ns: int) -> None:
        """A shorter grace period was asked for (`delete --force --grace-period=0`)."""
        if self.container.running and grace_ns < self.grace_ns:
            self.grace_ns = grace_ns
            self.worker.kubelet.sim.after(grace_ns, self.container.kill)

    def check(self) -> None:
        """Look whether the container has exited."""
        if not self.container.running and not self._over:
            self._over = True
            self.worker.kubelet.sim.after(self.worker.stream.uniform_ns(*_RETURN_NS), self._finish)

    def _finish(self) -> None:
        self.worker.stops.pop(self.container.container_id, None)
        if not self.worker.dead:
            self.done()


class Termination:
    """The end of a pod: all containers stopped, then the sandbox, then the API object."""

    def __init__(self, worker: PodWorker) -> None:
        self.worker = worker
        self._left = 0

    def begin(self) -> None:
        """Stop the containers that run, sidecars last."""
        worker = self.worker
        worker.state = "terminating"
        worker.stop_probes(("liveness", "startup"))
        every = [*init_containers_of(worker.pod), *containers_of(worker.pod)]
        self._stop([c["name"] for c in every if not is_sidecar(c)])

    def _stop(self, names: list[str]) -> None:
        worker = self.worker
        running = [run for name in names if (run := worker.container(name)) is not None and run.running]
        self._left = len(running)
        grace_ns = worker.grace_ns()
        for container in running:
            worker.stop_container(container, f"Stopping container {container.spec.name}", grace_ns, self._stopped)
        if not running:
            self._all_stopped()

    def _stopped(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._all_stopped()

    def _all_stopped(self) -> None:
        worker = self.worker
        sidecars = [c["name"] for c in init_containers_of(worker.pod) if is_sidecar(c)]
        running = [name for name in sidecars if (run := worker.container(name)) is not None and run.running]
        if running:  # one after another, the last one first
            self._stop(running[-1:])
            return
        worker.state = "terminated"
        worker.stop_probes(("liveness", "startup", "readiness"))
        worker.kubelet.machine.runtime.stop_sandbox(worker.uid)
        worker.kubelet.attachments.forget_pod(worker.uid)
        worker.look()
        worker.update_status()
        if is_terminating(worker.pod):
            self.schedule_removal()
        worker.finished_terminating()

    def schedule_removal(self) -> None:
        """Delete the API object once a relist has seen that nothing is left."""
        worker = self.worker
        worker.kubelet.sim.at(worker.kubelet.next_relist_ns() + 30 * MILLISECOND, worker.remove_from_api)
