"""Containers that exit: back-off, counts, last state."""

import itertools

import pytest

from simcluster.control.kubelet.backoff import Backoff
from simcluster.engine import SECOND, Simulation
from tests.clusters.nodes import NodeBench


def starts_of(bench, seconds):
    """Instants (s) at which the container of pod `app` starts, polled finely."""
    seen, starts = "", []
    for _ in range(int(seconds * 4)):
        bench.run(0.25)
        run = bench.machine.runtime.newest(bench.get()["metadata"]["uid"], "c")
        if run is not None and run.started_ns and run.container_id != seen:
            seen = run.container_id
            starts.append(run.started_ns / SECOND)
    return starts


def test_crash_loop_has_the_recorded_rhythm():
    """Recorded on a 1.32 node: starts at 1.0, 1.5, 17.4, 42.4, 94.4 s after creation."""
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.pod(env={"EXIT_AFTER": "0.1"})
    starts = starts_of(bench, 240)
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    assert gaps[0] < 2.5  # the first restart comes at once
    for gap, backoff in zip(gaps[1:], (10, 20, 40, 80), strict=False):
        assert backoff <= gap < backoff + 17


def test_status_of_a_crash_loop():
    bench = NodeBench()
    bench.pod(env={"EXIT_AFTER": "0.1", "EXIT_CODE": "3"})
    bench.run(15)
    status = bench.container_status()
    uid = bench.get()["metadata"]["uid"]
    waiting = {
        "reason": "CrashLoopBackOff",
        "message": f"back-off 10s restarting failed container=c pod=app_shop({uid})",
    }
    while "waiting" not in status["state"]:
        bench.run(1)
        status = bench.container_status()
    if "10s" in status["state"]["waiting"]["message"]:
        assert status["state"]["waiting"] == waiting
    assert status["lastState"]["terminated"]["exitCode"] == 3
    assert status["lastState"]["terminated"]["reason"] == "Error"
    assert not status["ready"]
    assert bench.get()["status"]["phase"] == "Running"
    text = f"Back-off restarting failed container c in pod app_shop({uid})"
    assert any(reason == "BackOff" and message == text for reason, message, _ in bench.events())


def test_out_of_memory_is_reported():
    bench = NodeBench()
    bench.pod(env={"MEMORY": str(100 << 20)}, resources={"limits": {"memory": "64Mi"}})
    bench.run(20)
    status = bench.container_status()
    ended = status["lastState"].get("terminated") or status["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


def test_on_failure_restarts_failures_only():
    bench = NodeBench()
    bench.pod("bad", {"EXIT_AFTER": "1"}, spec={"restartPolicy": "OnFailure"})
    bench.pod("good", {"EXIT_AFTER": "1", "EXIT_CODE": "0"}, spec={"restartPolicy": "OnFailure"})
    bench.run(30)
    assert bench.container_status("bad")["restartCount"] >= 1
    assert bench.get("bad")["status"]["phase"] == "Running"
    assert bench.get("good")["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize(("failures", "delay"), [(1, 10), (2, 20), (5, 160), (6, 300), (9, 300)])
def test_back_off_doubles_to_five_minutes(failures, delay):
    sim = Simulation()
    backoff = Backoff(sim)
    for _ in range(failures):
        backoff.raise_delay("k", sim.now)
    assert backoff.delay_ns("k") == delay * SECOND
    assert backoff.in_backoff_since("k", sim.now)
    sim.run_for(delay * SECOND)
    assert not backoff.in_backoff("k")
    sim.run_for(1300 * SECOND)
    backoff.raise_delay("k", sim.now)
    assert backoff.delay_ns("k") == 10 * SECOND
