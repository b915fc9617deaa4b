"""One sync of a pod: volumes, sandbox, and then container after container what is due.

Source: kuberuntime_manager.go (computePodActions, SyncPod) and kuberuntime_container.go
(startContainer). Everything slow is a timer; a sync is over when its last step is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from simcluster.api.objects import Json, namespace_of
from simcluster.control.kubelet.admission import requests_of
from simcluster.control.kubelet.environment import ConfigError, build_environment, expand
from simcluster.control.kubelet.goduration import go_duration
from simcluster.control.kubelet.hostedpod import HostedPod
from simcluster.control.kubelet.mounting import Mounting, PodVolumes
from simcluster.control.kubelet.poddns import host_aliases, resolver_of, within_limits
from simcluster.control.kubelet.podspec import (
    container_named,
    containers_of,
    cpu_millis,
    ephemeral_containers_of,
    full_name,
    grace_period_s,
    image_of,
    init_containers_of,
    is_sidecar,
    memory_bytes,
    pod_memory_limit,
    qos_class,
    restart_policy,
    sysctls_of,
)
from simcluster.control.kubelet.probeworker import PodProbes
from simcluster.control.kubelet.pullsecrets import is_private, pull_keys
from simcluster.control.kubelet.runs import Run
from simcluster.control.kubelet.status import Waiting
from simcluster.control.kubelet.stopping import Stops, run_hook
from simcluster.control.kubelet.subpaths import with_sub_paths
from simcluster.control.kubelet.volumes import mounts_of
from simcluster.engine import SECOND, Parted
from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.kernel.cgroups import PodGroup
from simcluster.models.machine.kernel.namespaces import refusal
from simcluster.models.machine.runtime import SHIM_FAILED, RuntimeFailure

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

    Args:
        finished: called at the end of each, with whether it failed and whether that may soon pass.

    Attributes:
        idle: whether the last one found everything set up and nothing to do.
    """

    def __init__(
        self, hosted: HostedPod, probes: PodProbes, stops: Stops, finished: Callable[[bool, bool], None]
    ) -> None:
        self.hosted = hosted
        self.volumes = PodVolumes(hosted)
        self.probes = probes
        self.stops = stops
        self.finished = finished
        self._steps: list[Kill | Start] = []
        self._failed = False
        self.idle = False
        self._attempts: dict[str, int] = {}
        self._seen = hosted.picture
        self._mounting: Mounting | None = None

    def begin(self) -> None:
        """Bring the pod one step nearer to its spec; ends with `finished`."""
        self._steps, self._failed, self.idle = [], False, False
        hosted = self.hosted
        network = hosted.host.network_error()
        if network and not hosted.pod["spec"].get("hostNetwork"):
            hosted.pod_event("Warning", "NetworkNotReady", f"network is not ready: {network}")
            self.finished(True, True)
            return
        if self.volumes.mounted is not None:
            self.volumes.refresh()
            self._sandbox()
            return
        if self._mounting is None:
            self._mounting = Mounting(self.volumes, self._volumes_set_up)
        self._mounting.begin()

    def _volumes_set_up(self, complete: bool) -> None:
        if complete:
            self._mounting = None
            self._sandbox()
        else:
            self.finished(True, False)

    # Sandbox.

    def _sandbox(self) -> None:
        hosted = self.hosted
        self.probes.start()
        if hosted.picture.address:
            self._plan()
            return
        if self._nothing_left():
            self.finished(False, False)
            return
        if hosted.picture.runs:  # they had a sandbox, which is gone
            hosted.pod_event("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
        hosted.host.sim.after(hosted.host.machine.runtime.sandbox_ns(), self._create_sandbox)

    def _nothing_left(self) -> bool:
        policy = restart_policy(self.hosted.pod)
        runs = [self.hosted.picture.newest(c["name"]) for c in containers_of(self.hosted.pod)]
        if policy == "Always" or any(run is None for run in runs):
            return False
        return all(run is not None and (policy == "Never" or run.exit_code == 0) for run in runs)

    def _create_sandbox(self) -> None:
        hosted = self.hosted
        if not hosted.active:
            return
        pod = hosted.pod
        names, messages = within_limits(resolver_of(pod, hosted.host.config.cluster_dns))
        for message in messages:
            hosted.pod_event("Warning", "DNSConfigForming", message)
        try:
            self._check_handler()
            sysctls = sysctls_of(pod)
            if wrong := refusal(sysctls):
                raise RuntimeFailure(SHIM_FAILED + wrong)
            sandbox = hosted.host.machine.runtime.create_sandbox(
                namespace_of(pod),
                hosted.name,
                hosted.uid,
                host_network=bool(pod["spec"].get("hostNetwork")),
                memory_limit=pod_memory_limit(pod),
                names=names,
                hosts=host_aliases(pod),
                group=PodGroup(qos_class(pod), requests_of(pod)[0] / 1000.0),
            )
        except RuntimeFailure as failure:
            hosted.pod_event("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {failure}")
            hosted.host.klog.error(
                "kuberuntime_manager.go:1170", str(failure), "CreatePodSandbox for pod failed", pod=hosted.reference
            )
            self.finished(True, False)
            return
        hosted.host.volumes.attach(pod, sandbox)
        hosted.host.machine.os.namespaces.set(hosted.uid, sysctls)
        most = hosted.host.config.pod_pids_limit
        if most > 0:  # the pod's cgroup is made with it, and keeps it whatever the kubelet reads later
            hosted.host.machine.os.pids.set_limit(hosted.uid, most)
        self._plan()

    def _check_handler(self) -> None:
        """Whether the node's runtime has the handler of the pod's runtime class. Raises RuntimeFailure."""
        name = self.hosted.pod["spec"].get("runtimeClassName")
        if not name:
            return
        found = self.hosted.host.client.cache.get("runtimeclasses.node.k8s.io", "", name)
        if found is None:
            raise RuntimeFailure(f'runtimeclass.node.k8s.io "{name}" not found')
        if found.get("handler") not in RUNTIME_HANDLERS:
            text = f'failed to get sandbox runtime: no runtime for "{found.get("handler")}" is configured'
            raise RuntimeFailure(f"rpc error: code = Unknown desc = {text}")

    # Containers.

    def _plan(self) -> None:
        # SyncPod works with the status it was called with, whatever is relisted meanwhile: a container
        # that it kills itself is not the exit that the back-off counts from (kuberuntime doBackOff).
        self._seen = self.hosted.picture
        for container in ephemeral_containers_of(self.hosted.pod):
            if self.hosted.picture.newest(container["name"]) is None:  # they never restart
                self._steps.append(Start(container["name"]))
        if self._plan_init():
            for container in containers_of(self.hosted.pod):
                self._plan_container(container)
        self.idle = not self._steps
        self._next()

    def _plan_init(self) -> bool:
        """Plan init containers; whether the others may run. In a new sandbox all of them run again."""
        picture = self.hosted.picture
        began = any(picture.newest_here(c["name"]) is not None for c in containers_of(self.hosted.pod))
        for container in init_containers_of(self.hosted.pod):
            run = picture.newest_here(container["name"])
            if is_sidecar(container):
                if run is None or run.state != "running":
                    self._steps.append(Start(container["name"]))
                    if not began:
                        return False
                elif (self._plan_kill(container, run) or not self.probes.started(container["name"])) and not began:
                    return False
                continue
            if began or (run is not None and run.state == "exited" and run.exit_code == 0):
                continue
            may_retry = run is None or restart_policy(self.hosted.pod) != "Never"
            if (run is None or run.state != "running") and may_retry:
                self._steps.append(Start(container["name"]))
            return False
        return True

    def _plan_container(self, container: Json) -> None:
        name = container["name"]
        run = self.hosted.picture.newest(name)
        policy = restart_policy(self.hosted.pod)
        if run is None or run.state == "created":
            self._steps.append(Start(name))
        elif run.state == "exited":
            if policy == "Always" or (policy == "OnFailure" and run.exit_code != 0):
                self._steps.append(Start(name))
        else:
            self._plan_kill(container, run)

    def _plan_kill(self, container: Json, run: Run) -> bool:
        name = container["name"]
        message, restarts = "", restart_policy(self.hosted.pod) != "Never" or is_sidecar(container)
        if run.image_spec != image_of(container):
            message, restarts = f"Container {name} definition changed, will be restarted", True
        else:
            for kind in ("liveness", "startup"):
                if self.probes.failed(name, kind, run.container_id):
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
        hosted = self.hosted
        if not hosted.active:
            return
        if not self._steps:
            self.finished(self._failed, False)
            return
        step = self._steps.pop(0)
        if isinstance(step, Start):
            self._start(step.name)
            return
        running = hosted.container(step.name)
        if running is None or not running.running:
            self._next()
            return
        grace_ns = self._probe_grace_s(step) * SECOND
        self.stops.stop(running, step.message, grace_ns, self._next)

    def _probe_grace_s(self, step: Kill) -> int:
        container = container_named(self.hosted.pod, step.name)
        for kind in ("liveness", "startup"):
            probe = container.get(f"{kind}Probe") or {}
            if f"failed {kind} probe" in step.message and probe.get("terminationGracePeriodSeconds") is not None:
                return int(probe["terminationGracePeriodSeconds"])
        return grace_period_s(self.hosted.pod)

    def _start(self, name: str) -> None:
        hosted = self.hosted
        key = f"{hosted.uid}_{name}"
        backoff = hosted.host.backoff
        dead = next((run for run in self._seen.runs.get(name, ()) if run.state == "exited"), None)
        if dead is not None:
            if backoff.in_backoff_since(key, dead.finished_ns):
                pod_name = full_name(hosted.pod)
                text = f"Back-off restarting failed container {name} in pod {pod_name}"
                hosted.container_event(name, "Warning", "BackOff", text)
                delay = go_duration(backoff.delay_ns(key))
                why = f"back-off {delay} restarting failed container={name} pod={pod_name}"
                hosted.waiting[name] = Waiting("CrashLoopBackOff", why)
                error = f'failed to "StartContainer" for "{name}" with CrashLoopBackOff: "{why}"'
                hosted.host.klog.error(
                    "pod_workers.go:1301", error, "Error syncing pod, skipping", pod=hosted.reference
                )
                self._failed = True
                self._next()
                return
            backoff.raise_delay(key, dead.finished_ns)
        hosted.host.images.ensure(self, container_named(hosted.pod, name))

    @property
    def pod_uid(self) -> str:
        """Of the pod, for whom images are pulled."""
        return self.hosted.uid

    @property
    def over(self) -> bool:
        """Whether no sync will come of it any more."""
        return self.hosted.dead

    def pull_keys(self) -> dict[str, str] | None:
        """Credentials of the pod's pull secrets, None if it names none; those that are not there are said of."""
        if not is_private(self.hosted.pod):
            return None
        keys, missing = pull_keys(self.hosted.host.client.cache, self.hosted.pod)
        if missing:
            why = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
            text = f"{why}; attempting to pull the image may not succeed."
            self.hosted.host.recorder.event(self.hosted.pod, "Warning", "FailedToRetrieveImagePullSecret", text)
        return keys

    def image_event(self, container: Json, kind: str, reason: str, message: str) -> None:
        """An event about the image of a container."""
        self.hosted.container_event(container["name"], kind, reason, message)

    def image_failed(self, container: Json, why: Waiting) -> None:
        """The image could not be had."""
        if not self.hosted.active:
            return
        self.hosted.container_event(container["name"], "Warning", "Failed", f"Error: {why.reason}")
        self._give_up(container, why)

    def image_ready(self, container: Json) -> None:
        """The image is on the node: configure and create the container."""
        if not self.hosted.active:
            return
        try:
            spec = self._spec(container)
        except ConfigError as error:
            self.hosted.container_event(container["name"], "Warning", "Failed", f"Error: {error}")
            self._give_up(container, Waiting("CreateContainerConfigError", str(error)))
            return
        delay = self.hosted.host.machine.runtime.create_ns()
        self.hosted.host.sim.after(delay, self._create, container, spec)

    def _create(self, container: Json, spec: ContainerSpec) -> None:
        hosted = self.hosted
        if not hosted.active:
            return
        name, runtime = container["name"], hosted.host.machine.runtime
        sandbox = runtime.sandboxes.get(hosted.uid)
        last = hosted.picture.newest(name)
        try:
            if sandbox is None:
                raise RuntimeFailure("sandbox container is not running")
            run = runtime.create_container(sandbox, spec, self._next_attempt(name, last))
        except RuntimeFailure as failure:
            hosted.container_event(name, "Warning", "Failed", f"Error: {failure}")
            self._give_up(container, Waiting("CreateContainerError", str(failure)))
            return
        hosted.container_event(name, "Normal", "Created", f"Created container: {name}")
        hosted.host.sim.after(runtime.start_ns(), self._run, container, run)

    def _next_attempt(self, name: str, last: Run | None) -> int:
        """Restart count of the run that is about to be created."""
        reported = [
            entry["restartCount"] + 1
            for key in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
            for entry in self.hosted.status.get(key) or ()
            if entry["name"] == name and "containerID" in entry
        ]
        known = [*reported, last.attempt + 1] if last is not None else reported
        self._attempts[name] = max([*known, self._attempts.get(name, -1) + 1, 0])
        return self._attempts[name]

    def _run(self, container: Json, run: Container) -> None:
        hosted = self.hosted
        if not hosted.active:
            return
        name = container["name"]
        try:
            hosted.host.machine.runtime.start_container(run)
        except RuntimeFailure as failure:
            hosted.container_event(name, "Warning", "Failed", f"Error: {failure}")
            self._give_up(container, Waiting("RunContainerError", str(failure)))
            return
        hosted.container_event(name, "Normal", "Started", f"Started container {name}")
        hosted.waiting.pop(name, None)
        hook: Json | None = (container.get("lifecycle") or {}).get("postStart")
        if hook is None:
            self._next()
            return
        used_ns = run_hook(hosted, container, hook, run, "PostStart")
        if used_ns < 0:
            why = "FailedPostStartHook"  # the reason is the whole message
            hosted.waiting[name] = Waiting("PostStartHookError", "PostStartHook failed")
            self._failed = True
            self.stops.stop(run, why, grace_period_s(hosted.pod) * SECOND, self._next)
            return
        hosted.host.sim.after(used_ns, self._next)

    def _give_up(self, container: Json, why: Waiting) -> None:
        self.hosted.waiting[container["name"]] = why
        self._failed = True
        self._next()

    def _spec(self, container: Json) -> ContainerSpec:
        hosted = self.hosted
        pod, host = hosted.pod, hosted.host
        self._check_user(container)
        sandbox = host.machine.runtime.sandboxes.get(hosted.uid)
        address = sandbox.address if sandbox is not None else ""
        env = build_environment(host.client.cache, pod, container, address, host.facts)
        cpu_limit, cpu_request = cpu_millis(container, "limits"), cpu_millis(container, "requests")
        return ContainerSpec(
            namespace=hosted.namespace,
            pod_name=hosted.name,
            pod_uid=hosted.uid,
            name=container["name"],
            image=image_of(container),
            command=tuple(expand(str(word), env) for word in container.get("command") or ()),
            args=tuple(expand(str(word), env) for word in container.get("args") or ()),
            env=tuple(env.items()),
            ports=tuple(int(port["containerPort"]) for port in container.get("ports") or ()),
            cpu_request=(cpu_request or 0) / 1000,
            cpu_limit=None if cpu_limit is None else cpu_limit / 1000,
            memory_request=memory_bytes(container, "requests") or 0,
            memory_limit=memory_bytes(container, "limits"),
            mounts=mounts_of(with_sub_paths(container, env), self.volumes.mounted or {}),
            labels=tuple(sorted((pod["metadata"].get("labels") or {}).items())),
            **_identity(pod, container),
            termination_path=container.get("terminationMessagePath") or "/dev/termination-log",
            read_only_root=bool((container.get("securityContext") or {}).get("readOnlyRootFilesystem")),
            termination_fallback=container.get("terminationMessagePolicy") == "FallbackToLogsOnError",
        )

    def _check_user(self, container: Json) -> None:
        pod_context = self.hosted.pod["spec"].get("securityContext") or {}
        context = {**pod_context, **(container.get("securityContext") or {})}
        if not context.get("runAsNonRoot") or context.get("runAsUser"):
            return
        whom = f'(pod: "{full_name(self.hosted.pod)}", container: {container["name"]})'
        if context.get("runAsUser") == 0:
            raise ConfigError(f"container's runAsUser breaks non-root policy {whom}")
        if self.hosted.host.machine.images.runs_as_root(image_of(container)):
            raise ConfigError(f"container has runAsNonRoot and image will run as root {whom}")


def _identity(pod: Json, container: Json) -> dict[str, Any]:
    """Who a container's processes are, and what they may: the container's word before the pod's."""
    of_pod: Json = pod["spec"].get("securityContext") or {}
    own: Json = container.get("securityContext") or {}
    both = {**of_pod, **own}
    capabilities = own.get("capabilities") or {}
    groups = [*(of_pod.get("supplementalGroups") or ()), *([of_pod["fsGroup"]] if "fsGroup" in of_pod else ())]
    return {
        "user": both.get("runAsUser"),
        "group": both.get("runAsGroup"),
        "groups": tuple(int(group) for group in groups),
        "drop": tuple(str(name).removeprefix("CAP_") for name in capabilities.get("drop") or ()),
        "add": tuple(str(name).removeprefix("CAP_") for name in capabilities.get("add") or ()),
        "privileged": bool(own.get("privileged")),
        "target": str(container.get("targetContainerName") or ""),
        "workdir": str(container.get("workingDir") or ""),
    }
