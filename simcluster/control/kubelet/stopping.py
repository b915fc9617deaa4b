"""Stopping containers: preStop, SIGTERM, grace period, SIGKILL; and terminating a whole pod.

Source: kuberuntime_container.go (killContainer), kubelet.go (SyncTerminatingPod,
SyncTerminatedPod). Sidecars stop after the other containers, in reverse order. Leaves out:
stop signals of images.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.control.kubelet.hostedpod import HostedPod
from simcluster.control.kubelet.podspec import (
    container_named,
    containers_of,
    grace_period_s,
    init_containers_of,
    is_sidecar,
)
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.runtime import RuntimeFailure

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

    def __init__(self, stops: Stops, container: Container, grace_ns: int, done: Callable[[], None]) -> None:
        self.stops = stops
        self.hosted = stops.hosted
        self.container = container
        self.grace_ns = grace_ns
        self.done = done
        self._signalled = False
        self._over = False

    def begin(self) -> None:
        """Run the preStop hook, then signal."""
        spec = container_named(self.hosted.pod, self.container.spec.name)
        hook: Json | None = (spec.get("lifecycle") or {}).get("preStop")
        if hook is None or not self.grace_ns:
            self._call(self.grace_ns)
            return
        used_ns = min(self.grace_ns, run_hook(self.hosted, spec, hook, self.container, "PreStop"))
        self.hosted.host.sim.after(used_ns, self._call, max(_MINIMUM_GRACE_NS, self.grace_ns - used_ns))

    def _call(self, grace_ns: int) -> None:
        sim = self.hosted.host.sim
        middle_ns = sum(_SIGNAL_NS) // 2
        more_ns = sim.parameter("kubelet.signal", middle_ns) - middle_ns
        sim.after(max(0, self.hosted.stream.uniform_ns(*_SIGNAL_NS) + more_ns), self._signal, grace_ns)

    def _signal(self, grace_ns: int) -> None:
        if self._signalled or self.hosted.dead:
            return
        try:
            self.hosted.host.machine.runtime.stop_container(self.container, grace_ns)
        except RuntimeFailure:
            self.hosted.host.sim.after(_RETRY_NS, self._signal, grace_ns)
            return
        self._signalled = True
        self.check()

    def shorten(self, grace_ns: int) -> None:
        """A shorter grace period was asked for (`delete --force --grace-period=0`)."""
        if self.container.running and grace_ns < self.grace_ns:
            self.grace_ns = grace_ns
            self.hosted.host.sim.after(grace_ns, self.container.kill)

    def check(self) -> None:
        """Look whether the container has exited."""
        if not self.container.running and not self._over:
            self._over = True
            self.hosted.host.sim.after(self.hosted.stream.uniform_ns(*_RETURN_NS), self._finish)

    def _finish(self) -> None:
        self.stops.under_way.pop(self.container.container_id, None)
        if not self.hosted.dead:
            self.done()


class Stops:
    """The stops of one pod's containers that are under way."""

    def __init__(self, hosted: HostedPod) -> None:
        self.hosted = hosted
        self.under_way: dict[str, Stop] = {}  # by container id

    def stop(self, container: Container, message: str, grace_ns: int, done: Callable[[], None]) -> None:
        """Stop a running container and call `done` when it is gone."""
        self.hosted.container_event(container.spec.name, "Normal", "Killing", message)
        self.hosted.host.klog.info(
            "kuberuntime_container.go:808",
            "Killing container with a grace period",
            pod=self.hosted.reference,
            containerName=container.spec.name,
            gracePeriod=grace_ns // SECOND,
        )
        stop = self.under_way[container.container_id] = Stop(self, container, grace_ns, done)
        stop.begin()

    def shorten(self) -> None:
        """The pod's grace period may have become shorter."""
        for stop in list(self.under_way.values()):
            stop.shorten(self.hosted.grace_ns())

    def check(self) -> None:
        """A container of the pod has changed state just now."""
        for stop in list(self.under_way.values()):
            stop.check()


def run_hook(hosted: HostedPod, spec: Json, hook: Json, container: Container, kind: str) -> int:
    """Run a lifecycle hook; its duration in nanoseconds, or -1 when it failed (event written)."""
    if "sleep" in hook:
        return int(hook["sleep"]["seconds"]) * SECOND
    outcome = hosted.host.prober.attempt(hook, spec, container, grace_period_s(hosted.pod))
    if outcome.result == "success":
        return outcome.delay_ns
    hosted.container_event(spec["name"], "Warning", f"Failed{kind}Hook", f"{kind}Hook failed")
    return -1 if kind == "PostStart" else 0


class Termination:
    """The end of a pod: all containers stopped, then the sandbox, then the API object.

    Args:
        stopped: called when nothing of the pod is left on the node.
    """

    def __init__(self, stops: Stops, stopped: Callable[[], None]) -> None:
        self.stops = stops
        self.hosted = stops.hosted
        self.stopped = stopped
        self._left = 0

    def begin(self) -> None:
        """Stop the containers that run, sidecars last."""
        self.hosted.state = "terminating"
        every = [*init_containers_of(self.hosted.pod), *containers_of(self.hosted.pod)]
        self._stop([c["name"] for c in every if not is_sidecar(c)])

    def _stop(self, names: list[str]) -> None:
        hosted = self.hosted
        running = [run for name in names if (run := hosted.container(name)) is not None and run.running]
        self._left = len(running)
        grace_ns = hosted.grace_ns()
        for container in running:
            self.stops.stop(container, f"Stopping container {container.spec.name}", grace_ns, self._one_stopped)
        if not running:
            self._all_stopped()

    def _one_stopped(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._all_stopped()

    def _all_stopped(self) -> None:
        hosted = self.hosted
        sidecars = [c["name"] for c in init_containers_of(hosted.pod) if is_sidecar(c)]
        running = [name for name in sidecars if (run := hosted.container(name)) is not None and run.running]
        if running:  # one after another, the last one first
            self._stop(running[-1:])
            return
        hosted.state = "terminated"
        hosted.host.machine.runtime.stop_sandbox(hosted.uid)
        hosted.host.attachments.forget_pod(hosted.uid)
        hosted.look()
        self.stopped()

    def schedule_removal(self) -> None:
        """Delete the API object once a relist has seen that nothing is left."""
        host = self.hosted.host
        host.sim.at(host.next_relist_ns() + 30 * MILLISECOND, self._remove_from_api)

    def _remove_from_api(self) -> None:
        hosted = self.hosted
        if hosted.dead:
            return
        try:
            hosted.host.client.delete("pods", hosted.namespace, hosted.name, uid=hosted.uid, grace_period_s=0)
        except ApiError as error:
            if error.code != 404:
                hosted.host.sim.after(10 * SECOND, self._remove_from_api)
