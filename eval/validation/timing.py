"""Rows K1-K8: timing constants of Kubernetes, measured on a small world in simulated time.

Source of the constants: Kubernetes 1.32 defaults (node-monitor-grace-period 50 s, tolerations of
300 s, CrashLoopBackOff 10 s doubling to 300 s, rolling updates 25 %, autoscaler period 15 s and
stabilisation 300 s, probes of 10 s and 3 failures, Job backoff 10 s doubling, scheduler 1 s to 10 s).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from simcluster.api.objects import ApiObject, condition, name_of
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.engine import MILLISECOND, MINUTE, SECOND, parse_rfc3339
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.row import Row
from simcluster.world import World
from simcluster.world.world import CONTROL_PLANE, GIB, NodeSpec

NAMESPACE = "default"
STEP_NS = 200 * MILLISECOND
_SHELL = "image: docker.io/library/busybox:1.36\n"


class Starts:
    """Collects the instants at which a container of a pod started."""

    def __init__(self) -> None:
        self.seen: dict[str, None] = {}

    def note(self, change: Change) -> None:
        """A pod changed."""
        for status in (change.object.get("status") or {}).get("containerStatuses") or ():
            for state in (status.get("state") or {}, status.get("lastState") or {}):
                for entry in state.values():
                    if entry.get("startedAt"):
                        self.seen[entry["startedAt"]] = None


def _world(workers: int = 2, **more: Any) -> World:
    return World(0, workers=workers, addons=False, **more)


def _until(world: World, holds: Callable[[], bool], limit_ns: int) -> bool:
    """Let the world live on until something holds; whether it did in time."""
    end = world.sim.now + limit_ns
    while not holds():
        if world.sim.now >= end:
            return False
        world.run_for(STEP_NS)
    return True


def _pods(world: World) -> list[ApiObject]:
    return list(world.api.store.objects("pods", NAMESPACE))


def _ready(world: World) -> int:
    return sum(1 for pod in _pods(world) if (condition(pod, "Ready") or {}).get("status") == "True")


def _deployment(replicas: int, extra: str = "", image: str = "docker.io/library/nginx:1.27") -> str:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n"
        "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n"
        f"      containers:\n      - name: web\n        image: {image}\n        ports: [{{containerPort: 80}}]\n{extra}"
    )


def k1(context: Context) -> None:
    """A node dies."""
    world = _world(3)
    world.apply(_deployment(3), namespace=NAMESPACE)
    _until(world, lambda: _ready(world) == 3, MINUTE)
    node = next(pod["spec"]["nodeName"] for pod in _pods(world))
    victims = [name_of(pod) for pod in _pods(world) if pod["spec"]["nodeName"] == node]
    for container in world.machines[node].runtime.containers():
        container.kill()
    world.machines[node].control("stop", "kubelet")
    lease = world.api.store.get("leases.coordination.k8s.io", "kube-node-lease", node)
    assert lease is not None
    last = parse_rfc3339(lease["spec"]["renewTime"])
    _until(world, lambda: _node_state(world, node) == "Unknown", 2 * MINUTE)
    silent = world.sim.now
    context.note("last lease to NotReady (s), at least", 50.0, (silent - last) / SECOND, 0.5, "below")
    # The controller sees a renewal at its next look, up to 5 s later, and counts from there; the tenth look after
    # that is over the 50 s by what ten looks take.
    context.note("last lease to NotReady (s), at most", 55.0, (silent - last) / SECOND, 0.5, "above")
    _until(world, lambda: _deleted(world, victims), 10 * MINUTE)
    # A look taints by what it found, and so NoExecute comes with the next one: 5 s, and 300 s of toleration.
    context.note("NotReady to eviction (s)", 305.0, (world.sim.now - silent) / SECOND, 1.0)
    _until(world, lambda: _ready_elsewhere(world, node) == 3, 2 * MINUTE)
    context.note("pods ready on other nodes", 3.0, float(_ready_elsewhere(world, node)), 0.0)


def _node_state(world: World, name: str) -> str:
    node = world.api.store.get("nodes", "", name)
    return str((condition(node or {}, "Ready") or {}).get("status", ""))


def _deleted(world: World, names: list[str]) -> bool:
    pods = [world.api.store.get("pods", NAMESPACE, name) for name in names]
    return all(pod is None or pod["metadata"].get("deletionTimestamp") for pod in pods)


def _ready_elsewhere(world: World, node: str) -> int:
    away = [pod for pod in _pods(world) if pod["spec"].get("nodeName") != node]
    return sum(1 for pod in away if (condition(pod, "Ready") or {}).get("status") == "True")


def k2(context: Context) -> None:
    """A container that crashes at once."""
    world, starts = _world(1), Starts()
    world.api.store.subscribe("pods", Informer(world.sim, "k2", "pods", starts.note))
    world.apply(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: crash}\nspec:\n  containers:\n  - name: c\n"
        f"    {_SHELL}    command: [sh, -c, exit 1]\n",
        namespace=NAMESPACE,
    )
    world.run_for(25 * MINUTE)
    instants = sorted(parse_rfc3339(text) for text in starts.seen)
    expected = (10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0)
    for number, (one, other, gap) in enumerate(zip(instants, instants[1:], expected, strict=False)):
        took = (other - one) / SECOND
        context.note(f"restart {number + 1} after (s), at least", gap, took, 1.0, "below")
        # pkg/kubelet/pod_workers.go: a pod is synced anew 10 to 15 s after a sync that found it backing off
        # (backOffPeriod, jitter factor 0.5), so that the delay is over by up to 15 s; stamps are whole seconds.
        context.note(f"restart {number + 1} after (s), at most", gap + 15.0, took, 1.0, "above")
    context.note("restarts in 25 min, at least", 7.0, float(len(instants) - 1), 0.0, "below")


def k3(context: Context) -> None:
    """A rolling update of four replicas."""
    world = _world(3)
    probe = "        readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 1}\n"
    world.apply(_deployment(4, probe), namespace=NAMESPACE)
    _until(world, lambda: _ready(world) == 4, 2 * MINUTE)
    world.apply(_deployment(4, probe, "docker.io/library/nginx:1.26"), namespace=NAMESPACE)
    least, most = 4, 4
    for _ in range(5 * 120):
        world.run_for(STEP_NS)
        least, most = min(least, _available(world)), max(most, _alive(world))
    context.note("fewest ready", 3.0, float(least), 0.0, "below")
    context.note("most pods", 5.0, float(most), 0.0, "above")
    images = {pod["spec"]["containers"][0]["image"]: None for pod in _pods(world)}
    context.note("images at the end", 1.0, float(len(images)), 0.0)


def _available(world: World) -> int:
    return sum(1 for pod in _pods(world) if (condition(pod, "Ready") or {}).get("status") == "True"
               and not pod["metadata"].get("deletionTimestamp"))  # fmt: skip


def _alive(world: World) -> int:
    return sum(1 for pod in _pods(world) if not pod["metadata"].get("deletionTimestamp"))


def k4(context: Context) -> None:
    """Twice the load on four replicas under an autoscaler."""
    world = World(0, workers=3)
    resources = "        resources: {requests: {cpu: 100m}}\n"
    world.apply(_deployment(4, resources), namespace=NAMESPACE)
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"
    )
    world.apply(service, namespace=NAMESPACE)
    _until(world, lambda: _ready(world) == 4, MINUTE)
    users = world.add_users(NAMESPACE, "web", 4000.0)
    world.run_for(2 * MINUTE)
    used = [container.cpu_ns for machine in world.machines.values() for container in machine.runtime.containers()
            if container.spec.name == "web"]  # fmt: skip
    world.run_for(MINUTE)
    now = [container.cpu_ns for machine in world.machines.values() for container in machine.runtime.containers()
           if container.spec.name == "web"]  # fmt: skip
    percent = max(1, round((sum(now) - sum(used)) / len(now) / MINUTE * 1000))  # of a request of 100m, in integers
    world.apply(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n"
        "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  minReplicas: 1\n  maxReplicas: 20\n"
        "  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, "
        f"averageUtilization: {percent}}}}}}}]\n",
        namespace=NAMESPACE,
    )
    world.run_for(2 * MINUTE)
    context.note("replicas at the load of the target", 4.0, float(_wanted(world)), 0.0)
    users.rps, began = 8000.0, world.sim.now
    _until(world, lambda: _wanted(world) >= 7, 5 * MINUTE)
    # One sync (15 s) behind a window of metrics (15 s).
    context.note("twice the load to scaling up (s)", 30.0, (world.sim.now - began) / SECOND, 0.0, "above")
    world.run_for(2 * MINUTE)
    context.note("replicas at twice the load", 8.0, float(_wanted(world)), 0.0)
    users.rps, began = 4000.0, world.sim.now
    before = _wanted(world)
    _until(world, lambda: _wanted(world) < before, 12 * MINUTE)
    context.note("half the load to scaling down (s)", 300.0, (world.sim.now - began) / SECOND, 0.0, "below")


def _wanted(world: World) -> int:
    deployment = world.api.store.get("deployments.apps", NAMESPACE, "web")
    return 0 if deployment is None else int(deployment["spec"]["replicas"])


def k5(context: Context) -> None:
    """A liveness probe that begins to fail."""
    world = _world(1)
    world.apply(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: alive}\nspec:\n  containers:\n  - name: c\n"
        f"    {_SHELL}    command: [sh, -c, 'touch /tmp/ok; while true; do sleep 5; done']\n"
        "    livenessProbe: {exec: {command: [cat, /tmp/ok]}}\n",
        namespace=NAMESPACE,
    )
    _until(world, lambda: _ready(world) == 1, MINUTE)
    world.run_for(47 * SECOND)
    runtime = world.machines["worker-1"].runtime
    run = runtime.containers()[0]
    runtime.execute(run, ("rm", "/tmp/ok"))
    began = world.sim.now
    _until(world, lambda: _said(world, "Killing"), 2 * MINUTE)
    term = (world.sim.now - began) / SECOND
    context.note("failure to SIGTERM (s), at least", 20.0, term, 0.5, "below")
    context.note("failure to SIGTERM (s), at most", 30.0, term, 1.5, "above")
    _until(world, lambda: not run.running, 2 * MINUTE)
    context.note("SIGTERM to SIGKILL of who ignores it (s)", 30.0, (world.sim.now - began) / SECOND - term, 1.5)


def _said(world: World, reason: str) -> bool:
    return any(event["reason"] == reason for event in world.api.store.objects("events", NAMESPACE))


def k6(context: Context) -> None:
    """A Job whose pods fail, with backoffLimit 6."""
    world = _world(1)
    world.apply(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: fails}\nspec:\n  backoffLimit: 6\n  template:\n    spec:\n"
        f"      restartPolicy: Never\n      containers:\n      - name: c\n        {_SHELL}"
        "        command: [sh, -c, exit 1]\n",
        namespace=NAMESPACE,
    )
    _until(world, lambda: bool(_pods(world)), MINUTE)
    _until(world, lambda: _failed(world), 30 * MINUTE)
    created = sorted(parse_rfc3339(pod["metadata"]["creationTimestamp"]) for pod in _pods(world))
    context.note("pods", 7.0, float(len(created)), 0.0)
    gaps = [(b - a) / SECOND for a, b in pairwise(created)]
    for number, gap in enumerate(gaps):
        # Beyond the backoff: the run itself, from creation to the failure that the controller sees.
        context.note(f"pod {number + 2} after (s), at least", 10.0 * (1 << number), gap, 0.5, "below")
        context.note(f"pod {number + 2} after (s), at most", 10.0 * (1 << number) + 3.0, gap, 0.5, "above")


def _failed(world: World) -> bool:
    job = world.api.store.get("jobs.batch", NAMESPACE, "fails")
    return (condition(job or {}, "Failed") or {}).get("status") == "True"


def k7(context: Context) -> None:
    """oom_score_adj of a Burstable pod that requests 1 GiB on a node of 16 GiB."""
    nodes = (NodeSpec(CONTROL_PLANE, control_plane=True), NodeSpec("big", memory=16 * GIB))
    world = World(0, nodes=nodes, addons=False)
    for name, more in (("burstable", "{requests: {memory: 1Gi}}"), ("besteffort", "{}"),
                       ("guaranteed", "{limits: {memory: 1Gi, cpu: 1}}")):  # fmt: skip
        world.apply(
            f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: c\n"
            f"    image: docker.io/library/nginx:1.27\n    resources: {more}\n",
            namespace=NAMESPACE,
        )
    _until(world, lambda: _ready(world) == 3, MINUTE)
    machine = world.machines["big"]
    scores = {c.spec.pod_name: machine.oom_score(c) for c in machine.runtime.containers()}
    context.note("Burstable, 1 of 16 GiB", 938.0, float(scores["burstable"]), 0.0)
    context.note("BestEffort", 1000.0, float(scores["besteffort"]), 0.0)
    context.note("Guaranteed", -997.0, float(scores["guaranteed"]), 0.0)


def k8(context: Context) -> None:
    """A pod that fits nowhere, while events arrive that might help, and while none do."""
    world = _world(1)
    tried: list[int] = []
    world.apply(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: huge}\nspec:\n  containers:\n  - name: c\n"
        "    image: docker.io/library/nginx:1.27\n    resources: {requests: {cpu: 900}}\n",
        namespace=NAMESPACE,
    )
    admin, before = world.client("kubernetes-admin", "test"), 0
    for number in range(300):
        world.run_for(STEP_NS)
        attempts = _attempts(world)
        if attempts > before:
            tried.append(world.sim.now)
            before = attempts
        # What a pod that goes frees may help: one comes and goes in every step.
        admin.create("pods", NAMESPACE, _passing(number))
        admin.delete("pods", NAMESPACE, f"passing-{number}", grace_period_s=0)
    gaps = [(b - a) / SECOND for a, b in pairwise(tried)]
    for number, (gap, expected) in enumerate(zip(gaps, (1.0, 2.0, 4.0, 8.0, 10.0, 10.0), strict=False)):
        context.note(f"attempt {number + 2} after (s)", expected, gap, 0.5)
    context.note("attempts in a minute, at least", 7.0, float(len(tried)), 0.0, "below")


def _passing(number: int) -> dict[str, Any]:
    container = {"name": "c", "image": "docker.io/library/nginx:1.27", "resources": {"requests": {"cpu": "10m"}}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"passing-{number}", "namespace": NAMESPACE},
        "spec": {"nodeName": "worker-1", "containers": [container]},
    }  # fmt: skip


def _attempts(world: World) -> int:
    queued = world.scheduler.queue.get(f"{NAMESPACE}/huge")
    return 0 if queued is None else queued.attempts


_DOCS = "Kubernetes 1.32 documentation and defaults"
_SYNC = "periods of 1 to 5 s at which components look"
_ONE = ("exact",)
ROWS = {
    "K1": Row("node death to NotReady, eviction, replacement", _DOCS, _SYNC, k1, _ONE),
    "K2": Row("restarts of a container that crashes", _DOCS, _SYNC, k2, _ONE),
    "K3": Row("rolling update of 4 replicas", _DOCS, "none: bounds", k3, _ONE),
    "K4": Row("autoscaler, load doubled and halved", _DOCS, "one sync and one window of metrics", k4, _ONE),
    "K5": Row("liveness probe to SIGTERM to SIGKILL", _DOCS, _SYNC, k5, _ONE),
    "K6": Row("Job with backoffLimit 6", _DOCS, _SYNC, k6, _ONE),
    "K7": Row("oom_score_adj by quality of service", _DOCS, "none", k7, _ONE),
    "K8": Row("scheduler backoff", _DOCS, "half a second: the steps of the measurement", k8, _ONE),
}
