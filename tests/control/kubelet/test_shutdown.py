"""Machines that go down in an orderly way, with and without `shutdownGracePeriod`."""

import pytest

from simcluster.api.objects import condition
from simcluster.control.kubelet.shutdown import shutdown_groups
from simcluster.models.machine.hosttools.table import run_on_host
from simcluster.models.machine.shell.tree import FileTree
from tests.clusters.nodes import NodeBench

CONFIG = "/var/lib/kubelet/config.yaml"
GROUPS = """shutdownGracePeriodByPodPriority:
- {priority: 0, shutdownGracePeriodSeconds: 20}
- {priority: 1000, shutdownGracePeriodSeconds: 10}
"""


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(12)
    return bench


def graceful(bench, text):
    bench.machine.files.write(CONFIG, text)
    bench.machine.control("restart", "kubelet")
    bench.run(12)


def ready(bench):
    entry = condition(bench.admin.get("nodes", "", "worker-1"), "Ready")
    return entry["status"], entry["message"]


def test_groups_of_a_configuration():
    assert shutdown_groups("kind: KubeletConfiguration\n") == ()
    assert shutdown_groups("shutdownGracePeriod: 0s\n") == ()
    listed = "shutdownGracePeriodByPodPriority:\n- {priority: 1000, shutdownGracePeriodSeconds: 5}\n"
    assert shutdown_groups(listed + "- {priority: 0, shutdownGracePeriodSeconds: 60}\n") == ((0, 60), (1000, 5))


def test_pods_end_before_the_machine_does_the_critical_ones_last(bench):
    graceful(bench, GROUPS)
    bench.pod("web", env={"TERM_AFTER": "4", "TERM": "0"}, spec={"terminationGracePeriodSeconds": 60})
    bench.pod("stubborn", env={"TERM": "ignore"}, spec={"terminationGracePeriodSeconds": 60})
    important = {"metadata": {"name": "important"}, "value": 500_000_000}
    bench.admin.create("priorityclasses.scheduling.k8s.io", "", important)
    bench.pod("vital", spec={"priorityClassName": "important"})
    bench.run(5)
    run_on_host(bench.machine, ["shutdown", "-h", "now"])
    bench.run(3)
    assert ready(bench) == ("False", "node is shutting down")
    assert bench.get("web")["status"]["phase"] == "Running"  # it still has a container
    bench.pod("late")
    bench.run(3)
    late = bench.get("late")["status"]
    assert (late["phase"], late["reason"]) == ("Failed", "NodeShutdown")
    assert late["message"] == "Pod was rejected: Pod was rejected as the node is shutting down."
    status = bench.get("web")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Terminated")
    assert status["message"] == "Pod was terminated in response to imminent node shutdown."
    target = condition(bench.get("web"), "DisruptionTarget")
    assert (target["reason"], target["message"]) == ("TerminationByKubelet", status["message"])
    assert "reason" not in bench.get("vital")["status"]
    bench.run(17)
    assert bench.get("stubborn")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
    assert bench.get("vital")["status"]["reason"] == "Terminated"
    assert bench.machine.power.on
    bench.run(8)
    assert not bench.machine.power.on


def test_without_a_grace_period_the_machine_goes_down_under_its_pods(bench):
    bench.pod("web", env={"TERM_AFTER": "2", "TERM": "0"})
    bench.run(5)
    run_on_host(bench.machine, ["reboot"])
    bench.run(8)
    assert not bench.machine.power.running
    assert bench.get("web")["status"]["phase"] == "Running"
    assert ready(bench)[0] == "True"  # nobody is left to say otherwise
    bench.run(90)
    status = bench.get("web")["status"]
    assert (status["phase"], status["containerStatuses"][0]["restartCount"]) == ("Running", 1)
    boot = bench.admin.get("nodes", "", "worker-1")["status"]["nodeInfo"]["bootID"]
    assert ("Rebooted", f"Node worker-1 has been rebooted, boot id: {boot}", 1) in bench.events("worker-1")


def test_after_a_boot_init_containers_run_again_and_an_empty_dir_is_what_it_was(bench):
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "ram", "emptyDir": {"medium": "Memory"}}]
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "ram", "mountPath": "/ram"}]
    env = [{"name": "EXIT_AFTER", "value": "1"}, {"name": "EXIT_CODE", "value": "0"}]
    first = {"name": "prepare", "image": "acme/app:1.0", "imagePullPolicy": "IfNotPresent", "env": env}
    bench.pod("web", spec={"volumes": volumes, "initContainers": [first]}, volumeMounts=mounts)
    bench.run(8)
    (sandbox,) = bench.machine.runtime.sandboxes.values()
    for place in ("/data", "/ram"):
        FileTree(sandbox.containers["c"]).write(f"{place}/list", "one")
    run_on_host(bench.machine, ["reboot"])
    bench.run(100)
    (sandbox,) = bench.machine.runtime.sandboxes.values()
    found = FileTree(sandbox.containers["c"])
    assert (found.exists("/data/list"), found.exists("/ram/list")) == (True, False)
    status = bench.get("web")["status"]
    assert status["phase"] == "Running"
    assert [one["restartCount"] for one in status["initContainerStatuses"]] == [1]


@pytest.mark.parametrize(("argv", "code"), [(["shutdown", "tomorrow"], 1), (["shutdown", "-c"], 0)])
def test_what_is_no_order_to_go_down_now_changes_nothing(bench, argv, code):
    assert run_on_host(bench.machine, argv).code == code
    bench.run(20)
    assert bench.machine.power.running
