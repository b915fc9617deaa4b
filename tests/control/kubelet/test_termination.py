"""Deleting pods: hooks, grace periods, and when the API object goes."""

import pytest

from tests.clusters.nodes import NodeBench


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(30)
    return bench


def gone_after(bench, limit=60):
    """Seconds until the pod's object is gone, to a tenth."""
    for tenth in range(limit * 10):
        if bench.get() is None:
            return tenth / 10
        bench.run(0.1)
    return limit


def test_a_willing_process_is_gone_within_two_seconds(bench):
    bench.pod(env={"TERM": "0"})
    bench.run(5)
    address = bench.get()["status"]["podIP"]
    bench.admin.delete("pods", "shop", "app")
    bench.run(0.3)
    status = bench.get()["status"]
    assert status["phase"] == "Succeeded"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert gone_after(bench) < 2
    assert ("Killing", "Stopping container c", 1) in bench.events()
    assert address not in bench.network.sandboxes
    assert bench.kubelet.workers == {}
    assert bench.machine.runtime.runs == {}


def test_a_deaf_process_is_killed_after_the_grace_period(bench):
    bench.pod(env={"TERM": "ignore"}, spec={"terminationGracePeriodSeconds": 7})
    bench.run(5)
    bench.admin.delete("pods", "shop", "app")
    bench.run(6.5)
    assert bench.conditions()["Ready"] == "True"  # it still runs, and says so
    assert 0.3 < gone_after(bench) < 3


def test_pre_stop_delays_the_signal_within_the_grace_period(bench):
    bench.pod(env={"TERM": "0"}, lifecycle={"preStop": {"sleep": {"seconds": 5}}})
    bench.run(5)
    bench.admin.delete("pods", "shop", "app")
    assert 5 <= gone_after(bench) < 7.5


def test_pre_stop_longer_than_the_grace_period_is_cut(bench):
    bench.pod(env={"TERM": "ignore"}, lifecycle={"preStop": {"sleep": {"seconds": 20}}})
    bench.run(5)
    bench.admin.delete("pods", "shop", "app", grace_period_s=4)
    assert 6 <= gone_after(bench) < 8.5  # four seconds of hook, two more for the process


def test_a_shorter_grace_period_wins(bench):
    bench.pod(env={"TERM": "ignore"})
    bench.run(5)
    bench.admin.delete("pods", "shop", "app")
    bench.run(2)
    bench.admin.delete("pods", "shop", "app", grace_period_s=1)
    assert gone_after(bench) < 4


def test_force_deletion_kills_what_is_left(bench):
    bench.pod(env={"TERM": "ignore"}, spec={"terminationGracePeriodSeconds": 3})
    bench.run(5)
    bench.admin.delete("pods", "shop", "app", grace_period_s=0)
    assert bench.get() is None
    bench.run(6)
    assert bench.machine.runtime.runs == {}
    assert bench.kubelet.workers == {}


def test_deletion_in_the_middle_of_a_pull(bench):
    bench.pod(image="acme/other:1.0")
    bench.run(0.8)
    bench.admin.delete("pods", "shop", "app")
    assert gone_after(bench) < 3
    bench.run(20)
    assert "Created" not in [reason for reason, _, _ in bench.events()]
    assert bench.kubelet.workers == {}


def test_deletion_during_back_off(bench):
    bench.pod(env={"EXIT_AFTER": "0.1"})
    bench.run(12)
    bench.admin.delete("pods", "shop", "app")
    assert gone_after(bench) < 3


def test_a_pod_of_the_same_name_may_follow(bench):
    bench.pod(env={"TERM": "0"})
    bench.run(5)
    bench.admin.delete("pods", "shop", "app")
    gone_after(bench)
    bench.pod(env={"TERM": "0"})
    bench.run(5)
    assert bench.conditions()["Ready"] == "True"
    assert bench.container_status()["restartCount"] == 0
