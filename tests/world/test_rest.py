"""What kubelets and traffic leave out while nothing changes is missed by nobody."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simcluster.engine import SECOND, fork
from simcluster.world import World

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {colour: green}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: settings, configMap: {name: settings}}]
      containers:
        - name: web
          image: nginx:1.27
          ports: [{containerPort: 80}]
          volumeMounts: [{name: settings, mountPath: /etc/settings}]
          readinessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 2, failureThreshold: 2}
          livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 7}
"""


@pytest.fixture(scope="module")
def calm() -> World:
    world = World(seed=3, workers=2)
    world.apply(MANIFEST)
    world.run_for(240 * SECOND)
    return world


def look_again(world: World) -> None:
    """Have every probe attempted and every pod looked at."""
    for kubelet in world.kubelets.values():
        kubelet.resting.catch_up()
        for worker in kubelet.workers.values():
            for probe in worker.probes.workers.values():
                probe._steady = None


def end_a_process(world: World) -> None:
    runtime = world.machines["worker-1"].runtime
    next(run for run in runtime.containers() if run.spec.name == "web").exit(1)


def slow_down(world: World) -> None:
    world.machines["worker-2"].set_cpu_speed(0.001)


def change_settings(world: World) -> None:
    world.apply(MANIFEST.replace("green", "blue"))


def stop_runtime(world: World) -> None:
    world.machines["worker-1"].control("stop", "containerd")


def end_etcd(world: World) -> None:
    runtime = world.machines["control-plane"].runtime
    next(run for run in runtime.containers() if run.spec.name == "etcd").kill()


def delete_node(world: World) -> None:
    world.client("kubernetes-admin", "kubectl").delete("nodes", "", "worker-2")


def cut_off(world: World) -> None:
    world.machines["worker-2"].nics["eth0"].cut()


@pytest.mark.parametrize(
    "strike", [end_a_process, slow_down, change_settings, stop_runtime, end_etcd, delete_node, cut_off]
)
def test_who_rests_wakes_in_time(calm: World, strike: Callable[[World], None]) -> None:
    restful, restless = fork(calm), fork(calm)
    for world in (restful, restless):
        world.run_for(31 * SECOND)
        strike(world)
    for _ in range(20):
        restful.run_for(5 * SECOND)
        restless.run_for(5 * SECOND)
        look_again(restless)
    assert restful.sim.digest.hex() == restless.sim.digest.hex()


def test_pods_and_probes_rest(calm: World) -> None:
    kubelets = calm.kubelets.values()
    assert sum(len(kubelet.resting.pods) for kubelet in kubelets) >= 12
    probes = [
        probe for kubelet in kubelets for worker in kubelet.workers.values() for probe in worker.probes.workers.values()
    ]
    assert sum(probe._steady is not None for probe in probes) >= 8


def test_a_scrape_holds_what_kubelets_say(calm: World) -> None:
    world = fork(calm)
    kubelet = world.kubelets["worker-1"]
    counters = kubelet.counters()
    for pod in kubelet.stats():
        found = counters.pod(pod.namespace, pod.name)
        assert {name: tuple(each) for name, each in found.items()} == {n: tuple(e) for n, e in pod.containers.items()}
