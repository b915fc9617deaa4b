"""Pods that were bound to a node which cannot take them, and runtimes that the node has not."""

import pytest

from simcluster.models.machine.kernel.containerfiles import read
from tests.clusters.nodes import NodeBench


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(30)
    return bench


def rejected(bench, name):
    status = bench.get(name)["status"]
    return status["phase"], status.get("reason"), status.get("message")


def test_a_port_of_the_host_is_taken_once(bench):
    for name, address in (("one", "0.0.0.0"), ("two", "127.0.0.1")):
        bench.pod(name, ports=[{"containerPort": 80, "hostPort": 8080, "protocol": "TCP", "hostIP": address}])
        bench.run(10)
    bench.pod("three", ports=[{"containerPort": 80, "hostPort": 8080, "protocol": "UDP"}])
    bench.run(10)
    text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert rejected(bench, "two") == ("Failed", "NodePorts", f"Pod was rejected: {text}")
    assert bench.events("two") == [("NodePorts", text, 1)]
    assert bench.container_status("one")["ready"]
    assert bench.container_status("three")["ready"]


@pytest.mark.parametrize(("effect", "phase"), [("NoSchedule", "Running"), ("NoExecute", "Failed")])
def test_only_taints_that_execute_concern_the_kubelet(bench, effect, phase):
    taints = {"spec": {"taints": [{"key": "k", "effect": effect}]}}
    bench.admin.patch("nodes", "", bench.machine.name, taints, kind="merge")
    bench.pod()
    bench.run(10)
    assert bench.get()["status"]["phase"] == phase
    if phase == "Failed":
        text = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
        assert bench.events() == [("TaintToleration", text, 1)]


def sysctl(name, value):
    return {"securityContext": {"sysctls": [{"name": name, "value": value}]}}


def test_a_pod_has_kernel_parameters_of_its_own(bench):
    bench.pod(spec=sysctl("net.ipv4.ip_local_port_range", "32000 32003"))
    bench.pod("plain")
    bench.run(10)
    kernel = bench.machine.os
    by_name = {c.spec.pod_name: c for c in bench.machine.containers()}
    own, plain = by_name["app"], by_name["plain"]
    assert (kernel.port_count(own), kernel.port_count(plain), kernel.ports.smallest) == (4, 28232, 4)
    shown = [read(each, "/proc/sys/net/ipv4/ip_local_port_range") for each in (own, plain)]
    assert shown == ["32000\t32003\n", "32768\t60999\n"]
    bench.admin.delete("pods", "shop", "app")
    bench.run(60)
    assert kernel.ports.smallest == 28232


@pytest.mark.parametrize(
    ("spec", "reason", "said"),
    [
        (
            sysctl("net.core.somaxconn", "9"),
            "SysctlForbidden",
            'forbidden sysctl: "net.core.somaxconn" not allowlisted',
        ),
        (
            {**sysctl("net.ipv4.tcp_syncookies", "1"), "hostNetwork": True},
            "SysctlForbidden",
            'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
        ),
        (
            sysctl("net.ipv4.ip_local_port_range", "9 8"),
            "FailedCreatePodSandBox",
            "ip_local_port_range: invalid argument",
        ),
    ],
)
def test_parameters_that_a_pod_cannot_have(bench, spec, reason, said):
    bench.pod(spec=spec)
    bench.run(5)
    (found, message, _), *_ = bench.events()
    assert found == reason
    assert said in message


def test_a_runtime_that_is_not_configured(bench):
    handler = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
    bench.admin.create("runtimeclasses.node.k8s.io", "", handler)
    bench.pod(spec={"runtimeClassName": "kata"})
    bench.run(5)
    (reason, message, _), *_ = bench.events()
    assert reason == "FailedCreatePodSandBox"
    assert message.endswith('failed to get sandbox runtime: no runtime for "kata" is configured')


def test_addresses_run_out(bench):
    runtime = bench.machine.runtime
    runtime._addresses.update({runtime._range.address(host): "somebody" for host in range(1, 255)})
    bench.pod()
    bench.run(5)
    (reason, message, _), *_ = bench.events()
    assert reason == "FailedCreatePodSandBox"
    assert "failed to allocate for range 0: no IP addresses available in range set" in message
