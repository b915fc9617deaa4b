"""One sync of a pod: volumes, sandbox, and then container after container what is due.

Source: kuberuntime_manager.go (computePodActions, SyncPod) and kuberuntime_container.go
(startContainer). Everything slow is a timer; a sync is over when its last step is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.api.objects import Json, namespace_of
from simcluster.control.kubelet.environment import ConfigError, build_environment, expand
from simcluster.control.kubelet.goduration import go_duration
from simcluster.control.kubelet.mounting import Mounting
from simcluster.control.kubelet.poddns import host_aliases, resolver_of, within_limits
from simcluster.control.kubelet.podspec import (
    container_named,
    containers_of,
    cpu_millis,
    ephemeral_containers_of,
    full_name,
    grace_period_s,
    init_containers_of,
    is_sidecar,
    memory_bytes,
    pod_memory_limit,
    restart_policy,
)
from simcluster.control.kubelet.runs import Run
from simcluster.control.kubelet.status import Waiting
from simcluster.control.kubelet.subpaths import with_sub_paths
from simcluster.control.kubelet.volumes import mounts_of
from simcluster.engine import SECOND, Parted
from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.runtime import RuntimeFailure

if TYPE_CHECKING:
    from simcluster.control.kubelet.podworker import PodWorker


#: The handlers that containerd is configured with (its default configuration).
RUNTIME_HANDLERS = ("", "runc")


class Kill(NamedTuple):
    """Kill a container of this name; the message goes into the event."""

    name: str
    message: str


class Start(NamedTuple):
    """Start a container of this name."""

    name: str


class PodSync(Parted):
    """The steps of a pod's syncs; one sync at a time.

    Attributes:
        idle: whether the last one found everything set up and nothing to do.
    """

    def __init__(self, worker: PodWorker) -> None:
        self.worker = worker
        self._steps: list[Kill | Start] = []
        self._failed = False
        self.idle = False
        self._seen = worker.picture
        self._mounting: Mounting | None = None

    def begin(self) -> None:
        """Bring the pod one step nearer to its spec; ends with `worker.sync_finished`."""
        self._steps, self._failed, self.idle = [], False, False
        worker = self.worker
        network = worker.kubelet.network_error()
        if network and not worker.pod["spec"].get("hostNetwork"):
            worker.pod_event("Warning", "NetworkNotReady", f"network is not ready: {network}")
            worker.sync_finished(failed=True, soon=True)
            return
        if worker.volumes is not None:
            worker.refresh_volumes()
            self._sandbox()
            return
        if self._mounting is None:
            self._mounting = Mounting(worker, self._volumes_set_up)
        self._mounting.begin()

    def _volumes_set_up(self, complete: bool) -> None:
        if complete:
            self._mounting = None
            self._sandbox()
        else:
            self.worker.sync_finished(failed=True)

    # Sandbox.

    def _sandbox(self) -> None:
        worker = self.worker
        worker.start_probes()
        if worker.picture.address:
            self._plan()
            return
        if self._nothing_left():
            worker.sync_finished(failed=False)
            return
        if worker.picture.runs:  # they had a sandbox, which is gone
            worker.pod_event("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
        worker.kubelet.sim.after(worker.kubelet.machine.runtime.sandbox_ns(), self._create_sandbox)

    def _nothing_left(self) -> bool:
        policy = restart_policy(self.worker.pod)
        runs = [self.worker.picture.newest(c["name"]) for c in containers_of(self.worker.pod)]
        if policy == "Always" or any(run is None for run in runs):
            return False
        return all(run is not None and (policy == "Never" or run.exit_code == 0) for run in runs)

    def _create_sandbox(self) -> None:
        worker = self.worker
        if not worker.active:
            return
        pod = worker.pod
        names, told = within_limits(resolver_of(pod, worker.kubelet.reporter.config.cluster_dns))
        for message in told:
            worker.pod_event("Warning", "DNSConfigForming", message)
        try:
            self._check_handler()
            sandbox = worker.kubelet.machine.runtime.create_sandbox(
                namespace_of(pod),
                worker.name,
                worker.uid,
                host_network=bool(pod["spec"].get("hostNetwork")),
                memory_limit=pod_memory_limit(pod),
                names=names,
                hosts=host_aliases(pod),
            )
        except RuntimeFailure as failure:
            worker.pod_event("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {failure}")
            worker.kubelet.klog.error(
                "kuberuntime_manager.go:1170", str(failure), "CreatePodSandbox for pod failed", pod=worker.reference
            )
            worker.sync_finished(failed=True)
            return
        worker.kubelet.volumes.attach(pod, sandbox)
        most = worker.kubelet.reporter.config.pod_pids_limit
        if most > 0:  # the pod's cgroup is made with it, and keeps it whatever the kubelet reads later
            worker.kubelet.machine.os.pids.set_limit(worker.uid, most)
        self._plan()

    def _check_handler(self) -> None:
        """Whether the node's runtime has the handler of the pod's runtime class. Raises RuntimeFailure."""
        name = self.worker.pod["spec"].get("runtimeClassName")
        if not name:
            return
        found = self.worker.kubelet.client.cache.get("runtimeclasses.node.k8s.io", "", name)
        if found is None:
            raise RuntimeFailure(f'runtimeclass.node.k8s.io "{name}" not found')
        if found.get("handler") not in RUNTIME_HANDLERS:
            text = f'failed to get sandbox runtime: no runtime for "{found.get("handler")}" is configured'
            raise RuntimeFailure(f"rpc error: code = Unknown desc = {text}")

    # Containers.

    def _plan(self) -> None:
        # SyncPod works with the status it was called with, whatever is relisted meanwhile: a container
        # that it kills itself is not the exit that the back-off counts from (kuberuntime doBackOff).
        self._seen = self.worker.picture
        for container in ephemeral_containers_of(self.worker.pod):
            if self.worker.picture.newest(container["name"]) is None:  # they never restart
                self._steps.append(Start(container["name"]))
        if self._plan_init():
            for container in containers_of(self.worker.pod):
                self._plan_container(container)
        self.idle = not self._steps
        self._next()

    def _plan_init(self) -> bool:
        """Plan init containers; whether the others may run."""
        picture = self.worker.picture
        began = any(picture.newest(c["name"]) is not None for c in containers_of(self.worker.pod))
        for container in init_containers_of(self.worker.pod):
            run = picture.newest(container["name"])
            if is_sidecar(container):
                if run is None or run.state != "running":
                    self._steps.append(Start(container["name"]))
                    if not began:
                        return False
                elif (self._plan_kill(container, run) or not self.worker.started(container["name"])) and not began:
                    return False
                continue
            if began or (run is not None and run.state == "exited" and run.exit_code == 0):
                continue
            may_retry = run is None or restart_policy(self.worker.pod) != "Never"
            if (run is None or run.state != "running") and may_retry:
                self._steps.append(Start(container["name"]))
            return False
        return True

    def _plan_container(self, container: Json) -> None:
        name = container["name"]
        run = self.worker.picture.newest(name)
        policy = restart_policy(self.worker.pod)
        if run is None or run.state == "created":
            self._steps.append(Start(name))
        elif run.state == "exited":
            if policy == "Always" or (policy == "OnFailure" and run.exit_code != 0):
                self._steps.append(Start(name))
        else:
            self._plan_kill(container, run)

    def _plan_kill(self, container: Json, run: Run) -> bool:
        name = container["name"]
        message, restarts = "", restart_policy(self.worker.pod) != "Never" or is_sidecar(container)
        if run.image_spec != container["image"]:
            message, restarts = f"Container {name} definition changed, will be restarted", True
        else:
            for kind in ("liveness", "startup"):
                if self.worker.probe_failed(name, kind, run.container_id):
                    message = f"Container {name} failed {kind} probe"
                    message += ", will be restarted" if restarts else ""
                    break
        if not message:
            return False
        self._steps.append(Kill(name, message))
        if restarts:
            self._steps.append(Start(name))
        return True

    def _next(self) -> None:
        worker = self.worker
        if not worker.active:
            return
        if not self._steps:
            worker.sync_finished(failed=self._failed)
            return
        step = self._steps.pop(0)
        if isinstance(step, Start):
            self._start(step.name)
            return
        running = worker.container(step.name)
        if running is None or not running.running:
            self._next()
            return
        grace_ns = self._probe_grace_s(step) * SECOND
        worker.stop_container(running, step.message, grace_ns, self._next)

    def _probe_grace_s(self, step: Kill) -> int:
        container = container_named(self.worker.pod, step.name)
        for kind in ("liveness", "startup"):
            probe = container.get(f"{kind}Probe") or {}
            if f"failed {kind} probe" in step.message and probe.get("terminationGracePeriodSeconds") is not None:
                return int(probe["terminationGracePeriodSeconds"])
        return grace_period_s(self.worker.pod)

    def _start(self, name: str) -> None:
        worker = self.worker
        key = f"{worker.uid}_{name}"
        backoff = worker.kubelet.backoff
        dead = next((run for run in self._seen.runs.get(name, ()) if run.state == "exited"), None)
        if dead is not None:
            if backoff.in_backoff_since(key, dead.finished_ns):
                pod_name = full_name(worker.pod)
                text = f"Back-off restarting failed container {name} in pod {pod_name}"
                worker.container_event(name, "Warning", "BackOff", text)
                delay = go_duration(backoff.delay_ns(key))
                why = f"back-off {delay} restarting failed container={name} pod={pod_name}"
                worker.waiting[name] = Waiting("CrashLoopBackOff", why)
                error = f'failed to "StartContainer" for "{name}" with CrashLoopBackOff: "{why}"'
                worker.kubelet.klog.error(
                    "pod_workers.go:1301", error, "Error syncing pod, skipping", pod=worker.reference
                )
                self._failed = True
                self._next()
                return
            backoff.raise_delay(key, dead.finished_ns)
        worker.kubelet.images.ensure(worker, container_named(worker.pod, name))

    def image_failed(self, container: Json, why: Waiting) -> None:
        """The image could not be had."""
        if not self.worker.active:
            return
        self.worker.container_event(container["name"], "Warning", "Failed", f"Error: {why.reason}")
        self._give_up(container, why)

    def image_ready(self, container: Json) -> None:
        """The image is on the node: configure and create the container."""
        if not self.worker.active:
            return
        try:
            spec = self._spec(container)
        except ConfigError as error:
            self.worker.container_event(container["name"], "Warning", "Failed", f"Error: {error}")
            self._give_up(container, Waiting("CreateContainerConfigError", str(error)))
            return
        delay = self.worker.kubelet.machine.runtime.create_ns()
        self.worker.kubelet.sim.after(delay, self._create, container, spec)

    def _create(self, container: Json, spec: ContainerSpec) -> None:
        worker = self.worker
        if not worker.active:
            return
        name, runtime = container["name"], worker.kubelet.machine.runtime
        sandbox = runtime.sandboxes.get(worker.uid)
        last = worker.picture.newest(name)
        try:
            if sandbox is None:
                raise RuntimeFailure("sandbox container is not running")
            run = runtime.create_container(sandbox, spec, worker.next_attempt(name, last))
        except RuntimeFailure as failure:
            worker.container_event(name, "Warning", "Failed", f"Error: {failure}")
            self._give_up(container, Waiting("CreateContainerError", str(failure)))
            return
        worker.container_event(name, "Normal", "Created", f"Created container: {name}")
        worker.kubelet.sim.after(runtime.start_ns(), self._run, container, run)

    def _run(self, container: Json, run: Container) -> None:
        worker = self.worker
        if not worker.active:
            return
        name = container["name"]
        try:
            worker.kubelet.machine.runtime.start_container(run)
        except RuntimeFailure as failure:
            worker.container_event(name, "Warning", "Failed", f"Error: {failure}")
            self._give_up(container, Waiting("RunContainerError", str(failure)))
            return
        worker.container_event(name, "Normal", "Started", f"Started container {name}")
        worker.waiting.pop(name, None)
        hook: Json | None = (container.get("lifecycle") or {}).get("postStart")
        if hook is None:
            self._next()
            return
        used_ns = worker.run_hook(container, hook, run, "PostStart")
        if used_ns < 0:
            why = "FailedPostStartHook"  # the reason is the whole message
            worker.waiting[name] = Waiting("PostStartHookError", "PostStartHook failed")
            self._failed = True
            worker.stop_container(run, why, grace_period_s(worker.pod) * SECOND, self._next)
            return
        worker.kubelet.sim.after(used_ns, self._next)

    def _give_up(self, container: Json, why: Waiting) -> None:
        self.worker.waiting[container["name"]] = why
        self._failed = True
        self._next()

    def _spec(self, container: Json) -> ContainerSpec:
        worker = self.worker
        pod, kubelet = worker.pod, worker.kubelet
        self._check_user(container)
        sandbox = kubelet.machine.runtime.sandboxes.get(worker.uid)
        address = sandbox.address if sandbox is not None else ""
        env = build_environment(kubelet.client.cache, pod, container, address, kubelet.facts)
        cpu_limit, cpu_request = cpu_millis(container, "limits"), cpu_millis(container, "requests")
        return ContainerSpec(
            namespace=worker.namespace,
            pod_name=worker.name,
            pod_uid=worker.uid,
            name=container["name"],
            image=container["image"],
            command=tuple(expand(str(word), env) for word in container.get("command") or ()),
            args=tuple(expand(str(word), env) for word in container.get("args") or ()),
            env=tuple(env.items()),
            ports=tuple(int(port["containerPort"]) for port in container.get("ports") or ()),
            cpu_request=(cpu_request or 0) / 1000,
            cpu_limit=None if cpu_limit is None else cpu_limit / 1000,
            memory_request=memory_bytes(container, "requests") or 0,
            memory_limit=memory_bytes(container, "limits"),
            mounts=mounts_of(with_sub_paths(container, env), worker.volumes or {}),
            labels=tuple(sorted((pod["metadata"].get("labels") or {}).items())),
            termination_path=container.get("terminationMessagePath") or "/dev/termination-log",
            read_only_root=bool((container.get("securityContext") or {}).get("readOnlyRootFilesystem")),
            termination_fallback=container.get("terminationMessagePolicy") == "FallbackToLogsOnError",
        )

    def _check_user(self, container: Json) -> None:
        pod_context = self.worker.pod["spec"].get("securityContext") or {}
        context = {**pod_context, **(container.get("securityContext") or {})}
        if not context.get("runAsNonRoot") or context.get("runAsUser"):
            return
        whom = f'(pod: "{full_name(self.worker.pod)}", container: {container["name"]})'
        if context.get("runAsUser") == 0:
            raise ConfigError(f"container's runAsUser breaks non-root policy {whom}")
        if self.worker.kubelet.machine.images.runs_as_root(container["image"]):
            raise ConfigError(f"container has runAsNonRoot and image will run as root {whom}")
