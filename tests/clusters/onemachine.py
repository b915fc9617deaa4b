"""One machine with containers that a test starts by hand: no API, no kubelet."""

from __future__ import annotations

from typing import Any

from simcluster.engine import Simulation
from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.kernel.cgroups import group_of
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import Network
from tests.clusters.nodes import ScriptedCatalog


def one_machine(
    name: str = "worker-1", address: str = "172.18.0.3", network: Network | None = None, **more: Any
) -> Machine:
    """A machine on its own."""
    sim = Simulation()
    spec = MachineSpec(name, address, **more)
    return LinuxMachine(sim, spec, network or Network(), ImageRegistry(sim), ScriptedCatalog())


def start(machine: Machine, name: str, **spec: Any) -> Container:
    """A running container in a pod of its own."""
    uid = f"uid-{name}"
    full = ContainerSpec("shop", name, uid, "c", "acme/app:1.0", **spec)
    sandbox = machine.runtime.create_sandbox("shop", name, uid, group=group_of(full))
    container = machine.runtime.create_container(sandbox, full, 0)
    machine.runtime.start_container(container)
    return container


def said(machine: Machine, identifier: str = "kernel") -> list[str]:
    """What a program (or the kernel, after its boot) wrote to the journal."""
    return [line.text for line in machine.log if line.identifier == identifier]
