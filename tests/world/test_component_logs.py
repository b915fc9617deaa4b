"""What the control plane's programs print follows from what they did."""

from __future__ import annotations

import json

import pytest

from simcluster.api.objects import Json
from simcluster.engine import MINUTE, SECOND
from simcluster.models.machine.storage import slow
from simcluster.surface.nodeshell import NodeShell
from simcluster.world import World


@pytest.fixture(scope="module", name="booted")
def plain() -> World:
    return World(5, workers=2)


@pytest.fixture(name="world")
def copied(booted: World) -> World:
    return booted.fork()


def logs(world: World, component: str, options: str = "") -> list[str]:
    found = world.kubectl().run(f"logs -n kube-system {component}-control-plane {options}")
    assert found.exit_code == 0, found.stderr
    return found.stdout.splitlines()


def shell(world: World, command: str, node: str = "control-plane") -> str:
    return NodeShell(world.machines[node], world).sh(command).stdout


def test_every_static_pod_says_that_it_started_and_who_leads(world: World) -> None:
    for component in ("kube-scheduler", "kube-controller-manager"):
        text = "\n".join(logs(world, component))
        assert f"attempting to acquire leader lease kube-system/{component}..." in text
        assert f"successfully acquired lease kube-system/{component}" in text
    assert any("Serving securely on [::]:6443" in line for line in logs(world, "kube-apiserver"))
    lines = [json.loads(line) for line in logs(world, "etcd")]
    assert {"level", "ts", "caller", "msg"} <= set(lines[0])
    assert "ready to serve client requests" in [line["msg"] for line in lines]


def test_what_was_synced_bound_and_allocated_is_there(world: World) -> None:
    run = world.kubectl().run
    run("create deployment web --image=nginx --replicas=2")
    run("expose deployment web --port 80")
    world.run_for(20 * SECOND)
    manager = "\n".join(logs(world, "kube-controller-manager"))
    assert (
        'replica_set.go:679] "Finished syncing" logger="replicaset-controller" kind="ReplicaSet" key="default/web-'
        in (manager)
    )
    address = json.loads(run("get service web -o json").stdout)["spec"]["clusterIP"]
    server = "\n".join(logs(world, "kube-apiserver"))
    assert f'"allocated clusterIPs" service="default/web" clusterIPs={{"IPv4":"{address}"}}' in server


def test_the_audit_log_says_who_changed_what(world: World) -> None:
    run, path = world.kubectl().run, "/var/log/kubernetes/audit/audit.log"
    run("create deployment web --image=nginx")
    run("delete configmap nothing --as=eve")
    run("get pods")
    world.run_for(20 * SECOND)
    events = [json.loads(line) for line in shell(world, f"cat {path}").splitlines()]
    made, refused = events[-2:]
    assert (made["verb"], made["user"]["username"], made["responseStatus"]["code"]) == (
        "create",
        "kubernetes-admin",
        201,
    )
    assert made["objectRef"] == {
        "resource": "deployments", "namespace": "default", "name": "web", "apiGroup": "apps", "apiVersion": "v1",
    }  # fmt: skip
    assert (refused["verb"], refused["user"]["username"]) == ("delete", "eve")
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert refused["responseStatus"]["reason"] == "Forbidden"
    assert not any(event["user"]["username"].startswith("system:node") for event in events)
    manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
    shell(world, f"sed -i /audit-log-path/d {manifest}")
    world.run_for(MINUTE)
    run("delete deployment web")
    assert len(shell(world, f"cat {path}").splitlines()) == len(events)


def test_a_sync_that_fails_is_said_in_the_controllers_words(world: World) -> None:
    quota: Json = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "0"}},
    }
    world.apply(json.dumps(quota))
    world.run_for(5 * SECOND)
    world.kubectl().run("create deployment web --image=nginx")
    world.run_for(10 * SECOND)
    failed = [line for line in logs(world, "kube-controller-manager") if "replica_set.go:560]" in line]
    assert failed
    assert failed[0].startswith("E0302 09:0")
    assert 'err="sync \\"default/web-' in failed[0]
    assert "exceeded quota: few" in failed[0]


def test_the_scheduler_tells_more_when_it_is_asked_to(world: World) -> None:
    world.kubectl().run("create deployment quiet --image=nginx")
    world.run_for(10 * SECOND)
    assert not any("schedule_one" in line for line in logs(world, "kube-scheduler"))
    manifest = "/etc/kubernetes/manifests/kube-scheduler.yaml"
    shell(world, f"sed -i 's/    - kube-scheduler/    - kube-scheduler\\n    - --v=2/' {manifest}")
    world.run_for(MINUTE)
    world.kubectl().run("create deployment loud --image=nginx")
    big: Json = {"requests": {"cpu": "90"}}
    pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"}}
    world.apply(json.dumps({**pod, "spec": {"containers": [{"name": "c", "image": "nginx", "resources": big}]}}))
    world.run_for(10 * SECOND)
    text = "\n".join(logs(world, "kube-scheduler"))
    assert '"Successfully bound pod to node" pod="default/loud-' in text
    assert '"Unable to schedule pod; no fit; waiting" pod="default/big" err="0/3 nodes are available' in text


def test_a_dead_node_is_in_the_controller_managers_log(world: World) -> None:
    world.kubectl().run("create deployment web --image=nginx --replicas=4")
    world.run_for(20 * SECOND)
    shell(world, "systemctl stop kubelet", "worker-1")
    world.run_for(7 * MINUTE)
    text = "\n".join(logs(world, "kube-controller-manager"))
    assert (
        '"Deleting pod" logger="taint-eviction-controller" controller="taint-eviction-controller" pod="default/web-'
        in text
    )


def test_without_etcd_its_clients_say_so_and_leaders_give_up(world: World) -> None:
    shell(world, "mv /etc/kubernetes/manifests/etcd.yaml /root/")
    world.run_for(40 * SECOND)
    folder = "/var/log/pods/kube-system_kube"
    assert 'failed to connect to {Addr: "127.0.0.1:2379"' in shell(world, f"cat {folder}-apiserver*/*/*.log")
    retries = shell(world, f"cat {folder}-scheduler*/*/0.log")
    assert (
        retries.count("error retrieving resource lock kube-system/kube-scheduler: etcdserver: request timed out") == 4
    )
    assert retries.rstrip().endswith('"leaderelection lost"')
    shell(world, "mv /root/etcd.yaml /etc/kubernetes/manifests/")
    world.run_for(MINUTE)
    assert any("successfully acquired lease" in line for line in logs(world, "kube-scheduler"))


def test_etcd_compacts_every_five_minutes_and_complains_of_a_slow_drive(world: World) -> None:
    world.run_for(10 * MINUTE)
    messages = [json.loads(line)["msg"] for line in logs(world, "etcd")]
    assert messages.count("finished scheduled compaction") == 1
    assert "apply request took too long" not in messages
    world.machines["control-plane"].storage.disks["nvme0n1"].fail_slow(slow.constant(10_000.0))
    world.run_for(MINUTE)
    warned = [json.loads(line) for line in logs(world, "etcd") if '"level":"warn"' in line]
    assert {line["expected-duration"] for line in warned} <= {"100ms", "1s"}
    assert len(warned) >= 5
