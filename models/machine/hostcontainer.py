"""A process of the host as programs of images know their container: its network, its name servers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.names import ResolverConfig
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.userland.paths import FileError


@dataclass
class HostSandbox(Sandbox):
    """The network namespace of the host itself."""

    machine: Machine | None = None

    def container_on(self, port: int) -> Container | None:
        """The container in the host's network that listens on the port."""
        return None if self.machine is None else self.machine.container_on(port)

    def listens_on(self, port: int) -> bool:
        """Whether any process of the host listens on the port."""
        return self.machine is not None and self.machine.listens_on(port)


def host_container(machine: Machine) -> Container:
    """A stand-in for a process of the host, as programs of images know their container."""
    hosts, servers, search = _files(machine)
    names = ResolverConfig(servers, search, 1)
    sandbox = HostSandbox(
        "", machine.name, "", machine.name, machine.address, host_network=True, names=names, hosts=hosts
    )
    sandbox.machine = machine
    spec = ContainerSpec("", machine.name, "", "host", "")
    return Container(machine.sim, machine, sandbox, spec, f"host-{machine.name}")


def _files(machine: Machine) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    texts = []
    for path in ("/etc/hosts", "/etc/resolv.conf"):
        try:
            texts.append(NodeTree(machine).read(path).text)
        except FileError:
            texts.append("")
    servers = tuple(re.findall(r"^nameserver\s+(\S+)", texts[1], re.MULTILINE)) or ("8.8.8.8",)
    search = re.search(r"^search\s+(.+)$", texts[1], re.MULTILINE)
    return texts[0], servers, tuple(search[1].split()) if search is not None else ()
