"""Faults of kernels, links and releases are refused before the run, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

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


def test_a_node_without_such_a_part_is_refused(world: World) -> None:
    assert "no interface eth7; it has eth0" in reason(
        fault("nic_fail_slow", "Node", "worker-1", nic="eth7", loss=0.1), world
    )
    assert "there is no Node/worker-9" in reason(fault("nic_fail_slow", "Node", "worker-9", loss=0.1), world)
    assert "takes Node, not Deployment" in reason(fault("clock_wrong", "Deployment", "frontend", offset_s=60), world)


@pytest.mark.parametrize(
    ("fault_id", "params", "said"),
    [
        ("nic_fail_slow", {"loss": 1.0}, "less than 1"),
        ("nic_fail_slow", {}, "an interface as new is no fault"),
        ("nic_fail_slow", {"bandwidth_bps": 10**11}, "less than or equal to"),
        ("neighbour_process", {**SCANNER, "cores": 0}, "greater than 0"),
        ("neighbour_process", {**SCANNER, "weight": 20_000}, "less than or equal to 10000"),
        ("clock_wrong", {"offset_s": 0}, "off by more than 1 s"),
        ("clock_wrong", {"offset_s": 10, "drift_ppm": 2e5}, "less than or equal to 100000"),
        ("conntrack_too_small", {"value": 0}, "greater than or equal to 1"),
    ],
)
def test_magnitudes_out_of_range_are_refused(fault_id: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fault(fault_id, "Node", "worker-1", **params)


def test_more_than_the_node_has_is_refused(world: World) -> None:
    many = fault("neighbour_process", "Node", "worker-1", **{**SCANNER, "cores": 64})
    assert "has 4 cores: no process can use 64" in reason(many, world)
    higher = fault("conntrack_too_small", "Node", "worker-1", value=10**7)
    assert "10000000 does not lower it" in reason(higher, world)
    unknown = fault("conntrack_too_small", "Node", "worker-1", name="net.ipv4.ip_forward", value=1)
    assert "limits no table" in reason(unknown, world)


def test_what_contradicts_another_fault_is_refused(world: World) -> None:
    fork = world.fork()
    for name, params in (
        ("neighbour_process", SCANNER),
        ("nic_fail_slow", {"loss": 0.2}),
        ("clock_wrong", {"offset_s": -7200}),
        ("conntrack_too_small", {"value": 400}),
    ):
        mechanism = fault(name, "Node", "worker-1", **params)
        mechanism.check(fork)
        mechanism.inject(fork)
        assert mechanism.still_present(fork)
        assert reason(mechanism, fork)
        assert not mechanism.still_present(world)


def test_releases_need_a_described_program_and_a_new_tag(world: World) -> None:
    leak = fault("memory_leak", "Deployment", "frontend", tag="v0.10.3", mib=64)
    assert "a version without fault" in reason(leak, world)
    with pytest.raises(ValueError, match="less than or equal to 4096"):
        fault("memory_leak", "Deployment", "frontend", tag="v0.10.4", mib=10**6)
    with pytest.raises(ValueError, match="greater than or equal to 14"):
        fault("descriptor_limit_too_low", "Deployment", "frontend", tag="v0.10.4", nofile=3)
