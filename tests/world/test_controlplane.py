"""The control plane's own pods: files on the node, mirrors in the API, and what their end means."""

import pytest

from simcluster.engine import SECOND
from simcluster.surface.nodeshell import NodeShell
from simcluster.world import World

MANIFESTS = "/etc/kubernetes/manifests"


@pytest.fixture(scope="module")
def booted():
    return World(0, workers=2)


@pytest.fixture
def world(booted):
    return booted.fork()


def shell(world, command):
    result = NodeShell(world.machines["control-plane"], world).sh(command)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def kubectl(world, command):
    return world.kubectl().run(command)


def pod(world, name):
    return world.api.store.get("pods", "kube-system", f"{name}-control-plane")


def park(world, name):
    shell(world, f"mv {MANIFESTS}/{name}.yaml /tmp/")


def restore(world, name):
    shell(world, f"mv /tmp/{name}.yaml {MANIFESTS}/")


def test_manifests_are_files_and_their_pods_run(world):
    assert shell(world, f"ls {MANIFESTS}").split() == [
        "etcd.yaml",
        "kube-apiserver.yaml",
        "kube-controller-manager.yaml",
        "kube-scheduler.yaml",
    ]
    mirror = pod(world, "kube-scheduler")
    notes = mirror["metadata"]["annotations"]
    assert notes["kubernetes.io/config.source"] == "file"
    assert notes["kubernetes.io/config.hash"] == notes["kubernetes.io/config.mirror"] != mirror["metadata"]["uid"]
    assert mirror["metadata"]["ownerReferences"][0]["kind"] == "Node"
    assert mirror["status"]["phase"] == "Running"
    assert world.api.store.get("leases.coordination.k8s.io", "kube-system", "kube-scheduler") is not None


def test_a_deleted_mirror_comes_back_and_the_container_runs_on(world):
    before = pod(world, "kube-scheduler")
    kubectl(world, "delete pod -n kube-system kube-scheduler-control-plane")
    world.run_for(3 * SECOND)
    after = pod(world, "kube-scheduler")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    ids = [p["status"]["containerStatuses"][0]["containerID"] for p in (before, after)]
    assert ids[0] == ids[1]
    assert world.scheduler.running


def test_without_its_manifest_the_scheduler_stops_and_pods_stay_pending(world):
    park(world, "kube-scheduler")
    world.run_for(10 * SECOND)
    assert pod(world, "kube-scheduler") is None
    assert not world.scheduler.running
    kubectl(world, "create deployment web --image=nginx")
    world.run_for(20 * SECOND)
    (waiting,) = world.api.store.objects("pods", "default")
    assert "nodeName" not in waiting["spec"]
    restore(world, "kube-scheduler")
    world.run_for(30 * SECOND)
    assert world.scheduler.running
    (running,) = world.api.store.objects("pods", "default")
    assert running["status"]["phase"] == "Running"


def test_a_wrong_flag_crashes_the_controller_manager(world):
    path = f"{MANIFESTS}/kube-controller-manager.yaml"
    shell(world, f"sed -i s#kubeconfig=/etc/kubernetes/controller#kubeconfig=/etc/kubernetes/kontroller# {path}")
    world.run_for(60 * SECOND)
    status = pod(world, "kube-controller-manager")["status"]["containerStatuses"][0]
    assert status["restartCount"] >= 1
    assert not world.controllers.running
    kubectl(world, "create deployment web --image=nginx")
    world.run_for(10 * SECOND)
    assert world.api.store.objects("replicasets.apps", "default") == []
    logs = kubectl(world, "logs -n kube-system kube-controller-manager-control-plane").stdout
    assert "no such file or directory" in logs
    shell(world, f"sed -i s#kontroller#controller# {path}")
    world.run_for(60 * SECOND)
    assert world.controllers.running
    assert len(world.api.store.objects("replicasets.apps", "default")) == 1


def test_a_crashed_leader_leaves_its_lease_behind(world):
    machine = world.machines["control-plane"]
    container = next(c for c in machine.runtime.containers() if c.spec.name == "kube-controller-manager")
    container.kill()
    world.run_for(10 * SECOND)
    assert not world.controllers.running  # the new process waits for the old lease to run out
    world.run_for(12 * SECOND)
    assert world.controllers.running


def test_without_api_server_nothing_answers_and_leaders_give_up(world):
    park(world, "kube-apiserver")
    world.run_for(20 * SECOND)
    answer = kubectl(world, "get pods")
    assert answer.exit_code == 1
    assert answer.stderr == (
        "The connection to the server 172.18.0.2:6443 was refused - did you specify the right host or port?\n"
    )
    assert not world.scheduler.running
    assert not world.controllers.running
    world.run_for(60 * SECOND)
    restore(world, "kube-apiserver")
    world.run_for(60 * SECOND)
    assert kubectl(world, "get nodes").exit_code == 0
    assert world.scheduler.running
    assert world.controllers.running
    assert {
        c["status"] for n in world.api.store.objects("nodes") for c in n["status"]["conditions"] if c["type"] == "Ready"
    } == {"True"}
    assert pod(world, "kube-scheduler")["status"]["containerStatuses"][0]["restartCount"] == 1


def test_without_etcd_requests_time_out(world):
    park(world, "etcd")
    world.run_for(5 * SECOND)
    assert kubectl(world, "get pods").stderr == "Error from server: etcdserver: request timed out\n"
    world.run_for(100 * SECOND)  # the liveness probe of the API server fails eight times
    assert "was refused" in kubectl(world, "get pods").stderr
    restore(world, "etcd")
    world.run_for(120 * SECOND)
    assert kubectl(world, "get pods").exit_code == 0


def test_a_manifest_that_cannot_be_read_ends_its_pod(world):
    shell(world, f"echo '{{{{' > {MANIFESTS}/kube-scheduler.yaml")
    world.run_for(5 * SECOND)
    assert world.scheduler.running
    world.run_for(30 * SECOND)
    assert not world.scheduler.running
    assert "Could not process manifest file" in shell(world, "journalctl -u kubelet")


def test_rules_stand_still_without_kube_proxy(world):
    kubectl(world, "create deployment web --image=nginx --port=80")
    kubectl(world, "expose deployment web")
    world.run_for(20 * SECOND)
    rules = world.network.rules["worker-1"].backends
    key = next(k for k in rules if k.address == world.api.store.get("services", "default", "web")["spec"]["clusterIP"])
    assert len(rules[key]) == 1
    nowhere = '{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}'
    kubectl(world, f"patch ds -n kube-system kube-proxy -p '{nowhere}'")
    world.run_for(40 * SECOND)
    assert not world.proxies["worker-1"].running
    before = rules[key]
    kubectl(world, "scale deployment web --replicas=3")
    world.run_for(30 * SECOND)
    assert rules[key] == before


def test_a_restarted_kubelet_finds_its_static_pods_running(world):
    before = pod(world, "kube-scheduler")
    shell(world, "systemctl restart kubelet")
    world.run_for(30 * SECOND)
    after = pod(world, "kube-scheduler")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    assert world.scheduler.running


def test_a_copy_of_a_manifest_waits_for_its_namesake(world):
    shell(world, f"cp {MANIFESTS}/kube-scheduler.yaml {MANIFESTS}/kube-scheduler.yaml.bak")
    world.run_for(20 * SECOND)
    assert (
        len([c for c in world.machines["control-plane"].runtime.containers() if c.spec.name == "kube-scheduler"]) == 1
    )
    shell(world, f"rm {MANIFESTS}/kube-scheduler.yaml")
    world.run_for(40 * SECOND)
    assert pod(world, "kube-scheduler")["status"]["phase"] == "Running"
    assert world.scheduler.running
