"""Faults of kernels, links and releases are refused before the run, with the reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.engine.content import ContentError
from simcluster.eval.episode.start import Starts
from simcluster.eval.proof import check
from simcluster.faults import registry
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from simcluster.world import World

SCANNER = {"unit": "scan", "description": "Scan", "command": "/usr/bin/scan /", "cores": 2}


@pytest.fixture(scope="module")
def world() -> World:
    world = World(3)
    world.deploy("online-boutique", "boutique")
    return world


def fault(fault_id: str, kind: str, target: str, **params: Any) -> Mechanism:
    return registry.build(registry.load(fault_id), ObjectRef(kind=kind, name=target), "boutique", params)


def reason(mechanism: Mechanism, world: World) -> str:
    with pytest.raises(ImpossibleTarget) as caught:
        mechanism.check(world)
    return str(caught.value)


def test_what_contradicts_another_fault_is_refused(world: World) -> None:
    fork = world.fork()
    for name, params in (
        ("neighbour_process", SCANNER),
        ("nic_fail_slow", {"loss": 0.2}),
        ("clock_drift", {"drift_ppm": -5000.0, "unattended": "1h"}),
        ("conntrack_too_small", {"value": 400}),
    ):
        mechanism = fault(name, "Node", "worker-1", **params)
        mechanism.check(fork)
        mechanism.inject(fork)
        assert mechanism.still_present(fork)
        assert reason(mechanism, fork)
        assert not mechanism.still_present(world)


def test_a_clock_is_not_suddenly_late(world: World) -> None:
    late = fault("clock_drift", "Node", "worker-1", drift_ppm=-400.0, unattended="4800h")
    late.check(world)
    absurd = fault("clock_drift", "Node", "worker-1", drift_ppm=-90_000.0, unattended="87600000h")
    assert "off by more than 100 years" in reason(absurd, world)
    fine = fault("clock_drift", "Node", "worker-1", drift_ppm=-400.0, server="169.254.169.123")
    assert "is a time server that answers" in reason(fine, world)
    fork = world.fork()
    fork.run_for(60 * SECOND)
    assert "make the step latent" in reason(late, fork)


@pytest.fixture(scope="module")
def starts() -> Starts:
    return Starts()


def refused(starts: Starts, folder: Path, task_id: str, *changes: tuple[str, str]) -> str:
    """What `simcluster check FILE` says of a task of the user's that cannot be."""
    text = tasks.path_of(task_id).read_text().replace(f"id: {task_id}", "id: mine", 1)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "mine.yaml"
    path.write_text(text)
    try:
        report = check(str(path), opener=starts.start)
    except ContentError as error:
        return f"mine.yaml:{error.line}: {error.problem}"
    assert [finding.passed for finding in report.findings] == [False]
    why = report.findings[0].why
    return re.sub(r"Node/[\w-]+", "Node/N", why[why.index("mine.yaml") :])


NIC, CLOCK = "nic_fail_slow_online_boutique", "clock_drift_online_boutique"
MORE = """  - fault: {}
    at: 90s
    target: {{kind: Node, node_of: frontend}}
    params: {}
committed_depth"""


@pytest.mark.parametrize(
    ("task_id", "old", "new", "said"),
    [
        (NIC, "{loss: 0.4}", "{loss: 0.4, nic: eth7}", "mine.yaml:10: Node/N has no interface eth7; it has eth0"),
        (NIC, "{loss: 0.4}", "{loss: 1.5}", "mine.yaml:11: fault nic_fail_slow: params.loss: Input should be less"),
        (
            NIC,
            "committed_depth",
            MORE.format("nic_fail_slow", "{delay_ms: 9}"),
            "interface eth0 of Node/N can be wrong",
        ),
        (NIC, "committed_depth", MORE.format("machine_fail_stop", "{}"), "mine.yaml:14: Node/N is off: nothing else"),
        (CLOCK, "at: 0s", "at: 5s", "only a fault is latent"),
        (CLOCK, "    latent: true ", "    #", "was right until now: make the step latent"),
        (
            CLOCK,
            "committed_depth",
            MORE.format("kubelet_stopped", "{unit: chrony}"),
            "cannot be stopped and ask in vain",
        ),
    ],
)
def test_a_task_of_the_users_that_cannot_be_is_refused_with_its_line(
    starts: Starts, tmp_path: Path, task_id: str, old: str, new: str, said: str
) -> None:
    assert said in refused(starts, tmp_path, task_id, (old, new))


def test_two_faults_of_one_part_contradict_each_other() -> None:
    one = fault("neighbour_process", "Node", "worker-1", **SCANNER)
    assert one.contradiction(fault("neighbour_process", "Node", "worker-1", **SCANNER))
    assert not one.contradiction(fault("neighbour_process", "Node", "worker-2", **SCANNER))
    assert not one.contradiction(fault("neighbour_process", "Node", "worker-1", **{**SCANNER, "unit": "other"}))
    assert one.contradiction(fault("kubelet_stopped", "Node", "worker-1", unit="scan"))
    leak = fault("memory_leak", "Deployment", "frontend", tag="v0.10.4", mib=64)
    assert "the image of Deployment/frontend" in leak.contradiction(
        fault("wrong_image_tag", "Deployment", "frontend", tag="v9")
    )
