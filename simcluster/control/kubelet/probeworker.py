"""Probe workers: one per container and kind of probe, on a ticker of their own.

Source: pkg/kubelet/prober/{worker,prober_manager}.go: a worker starts with its pod's first
sync, waits a random part of the period only when the kubelet has just started, skips
attempts before `initialDelaySeconds`, and counts results until a threshold is met.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.objects import Json, is_terminating
from simcluster.control.kubelet.hostedpod import HostedPod
from simcluster.control.kubelet.podspec import Pod, containers_of, init_containers_of, restart_policy
from simcluster.control.kubelet.probing import Outcome
from simcluster.control.kubelet.steadyprobe import Steady, steady_of
from simcluster.engine import SECOND, Timer

KINDS = {"startup": "startupProbe", "liveness": "livenessProbe", "readiness": "readinessProbe"}


class ProbeWorker:
    """Runs one probe of one container.

    Attributes:
        result: `success`, `failure` or `unknown`, of the container run `container_id`.
        counts: attempts that succeeded, failed, and of which nobody knows.
    """

    def __init__(self, probes: PodProbes, container: Json, kind: str) -> None:
        self.probes = probes
        self.hosted = probes.hosted
        self.container = container
        self.kind = kind
        self.spec: Json = container[KINDS[kind]]
        self.container_id = ""
        self.result = self.initial
        self.on_hold = False
        self.counts = [0, 0, 0]
        self._last = ""
        self._streak = 0
        self._pending = False
        self._in_flight = 0
        self._steady: Steady | None = None  # while it lasts, attempts succeed
        self._timer: Timer | None = None

    @property
    def initial(self) -> str:
        """The result before the first attempt: alive, but not ready and not started."""
        return {"liveness": "success", "readiness": "failure", "startup": "unknown"}[self.kind]

    @property
    def period_ns(self) -> int:
        """`periodSeconds`."""
        return int(self.spec.get("periodSeconds") or 10) * SECOND

    def start(self) -> None:
        """Begin to tick."""
        host = self.hosted.host
        first = 0
        if host.sim.now - host.started_ns < self.period_ns:
            stream = host.sim.stream("probe", self.hosted.uid, self.container["name"], self.kind)
            first = stream.uniform_ns(0, self.period_ns)
        self._timer = host.sim.every(self.period_ns, self.tick, first_ns=host.sim.now + first)

    def stop(self) -> None:
        """Never try again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def stopped(self) -> bool:
        """Whether the worker has ended."""
        return self._timer is None

    @property
    def next_ns(self) -> int:
        """When it tries next."""
        return -1 if self._timer is None else self._timer.at_ns

    def adopt(self, container_id: str) -> None:
        """Take over a container that a former kubelet had found successful."""
        self.container_id = container_id
        self.result = "success"

    def trigger(self) -> None:
        """Try at once, besides the ticker (a container has just started)."""
        if not self.stopped and not self._pending:
            self._pending = True
            self.hosted.host.sim.after(0, self._triggered)

    def _triggered(self) -> None:
        self._pending = False
        if not self.stopped:
            self.tick()

    def tick(self) -> None:
        """One turn: try if the container runs and is old enough."""
        hosted = self.hosted
        if self._steady is not None:
            if self._steady.lasts(hosted):
                self.counts[0] += 1
                return
            self._steady = None
        run = hosted.reported.newest(self.container["name"])
        if run is None:
            return
        if run.container_id != self.container_id:
            self.container_id = run.container_id
            self.on_hold = False
            self._last, self._streak = "", 0
            self._set(self.initial)
        if self.on_hold:
            return
        if run.state != "running":
            self._not_running(hosted.pod)
            return
        if is_terminating(hosted.pod) and self.kind in ("liveness", "startup"):
            self._set("success")
            self.stop()
            return
        age_s = (hosted.host.sim.now - run.started_ns) // SECOND
        if age_s < int(self.spec.get("initialDelaySeconds") or 0):
            return
        if self.kind == "startup":
            if self.result == "success":
                return
        elif not self.probes.started(self.container["name"]):
            return
        self._attempt()

    def _not_running(self, pod: Pod) -> None:
        if self.kind == "readiness":
            self._set("failure")
        if restart_policy(pod) == "Never":
            self.stop()

    def _attempt(self) -> None:
        hosted = self.hosted
        container = hosted.host.machine.runtime.newest(hosted.uid, self.container["name"])
        if container is None:
            return
        timeout_s = int(self.spec.get("timeoutSeconds") or 1)
        outcome = hosted.host.prober.attempt(self.spec, self.container, container, timeout_s)
        self._in_flight += 1
        if outcome.delay_ns:
            hosted.host.sim.after(outcome.delay_ns, self._finished, outcome, container.container_id)
        else:
            self._finished(outcome, container.container_id)

    def _finished(self, outcome: Outcome, container_id: str) -> None:
        self._in_flight -= 1
        if self.stopped or container_id != self.container_id or self.on_hold:
            return
        self.counts[("success", "failure", "error").index(outcome.result)] += 1
        self._report(outcome)
        if outcome.result == "error":
            return
        self._streak = self._streak + 1 if outcome.result == self._last else 1
        self._last = outcome.result
        key, default = ("failureThreshold", 3) if outcome.result == "failure" else ("successThreshold", 1)
        if self._streak < int(self.spec.get(key) or default):
            return
        if outcome.result == "failure" and self.kind in ("liveness", "startup"):
            # The container will be killed: no more attempts until the next run.
            self.on_hold = True
            self._last, self._streak = "", 0
        self._set(outcome.result)
        if outcome.result == self.result == "success" and not self._in_flight:
            self._rest()

    def _rest(self) -> None:
        """Make no more attempts as long as they must succeed."""
        hosted = self.hosted
        container = hosted.host.machine.runtime.newest(hosted.uid, self.container["name"])
        run = hosted.reported.newest(self.container["name"])
        if container is None or run is None or not container.container_id == run.container_id == self.container_id:
            return
        self._steady = steady_of(hosted, self.spec, self.container, container)

    def _report(self, outcome: Outcome) -> None:
        if outcome.result == "success":
            return
        hosted = self.hosted
        verb = "failed" if outcome.result == "failure" else "errored"
        text = f"{self.kind.capitalize()} probe {verb}: {outcome.text}"
        hosted.container_event(self.container["name"], "Warning", "Unhealthy", text)
        hosted.host.klog.info(
            "prober.go:107",
            "Probe failed",
            probeType=self.kind.capitalize(),
            pod=hosted.reference,
            containerName=self.container["name"],
            probeResult="failure",
            output=outcome.text,
        )

    def _set(self, result: str) -> None:
        if result != self.result:
            self.result = result
            self.probes.changed(self)


class PodProbes:
    """The probes of one pod.

    Args:
        changed: called with a probe whose result has changed.

    Attributes:
        workers: by container name and kind.
    """

    def __init__(self, hosted: HostedPod, changed: Callable[[ProbeWorker], None]) -> None:
        self.hosted = hosted
        self.changed = changed
        self.workers: dict[tuple[str, str], ProbeWorker] = {}

    def start(self) -> None:
        """Begin to probe: of a new pod once its volumes are mounted (kubelet SyncPod, probeManager.AddPod)."""
        spec = self.hosted.pod
        for container in [*init_containers_of(spec), *containers_of(spec)]:
            for kind, key in KINDS.items():
                name = container["name"]
                if container.get(key) and (name, kind) not in self.workers:
                    probe = self.workers[name, kind] = ProbeWorker(self, container, kind)
                    self._adopt(probe, name, kind)
                    probe.start()

    def _adopt(self, probe: ProbeWorker, name: str, kind: str) -> None:
        # A kubelet that has just started believes what its predecessor reported, so that a
        # restart of the agent does not take healthy pods out of their Services.
        run = self.hosted.picture.newest(name)
        key = {"readiness": "ready", "startup": "started"}.get(kind)
        if run is None or run.state != "running" or key is None:
            return
        for entry in self.hosted.status.get("containerStatuses") or ():
            if entry["name"] == name and entry.get(key) and entry.get("containerID", "").endswith(run.container_id):
                probe.adopt(run.container_id)

    def stop(self, *kinds: str) -> None:
        """End the probes of these kinds."""
        for (_, kind), probe in self.workers.items():
            if kind in kinds:
                probe.stop()

    def failed(self, name: str, kind: str, container_id: str) -> bool:
        """Whether this run of the container has failed the probe."""
        probe = self.workers.get((name, kind))
        return probe is not None and probe.result == "failure" and probe.container_id == container_id

    def passed(self, name: str, kind: str, container_id: str) -> bool:
        """Whether this run of the container has passed the probe, or has none of the kind."""
        probe = self.workers.get((name, kind))
        return probe is None or (probe.result == "success" and probe.container_id == container_id)

    def started(self, name: str) -> bool:
        """Whether the running container has passed its startup probe (or has none)."""
        run = self.hosted.reported.newest(name)
        return run is not None and run.state == "running" and self.passed(name, "startup", run.container_id)
