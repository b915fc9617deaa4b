"""What goes through `kubectl port-forward` and `kubectl proxy`.

Of a forwarded port the kubelet of the pod's node connects inside of the pod's network. A proxy asks the API server as
whoever started it, and says what came back. Left out: its filters by host, files of its own (`--www`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simcluster.api.request import User
from simcluster.models.machine import hostnet
from simcluster.models.machine.hostcontainer import HostSandbox, host_container
from simcluster.models.machine.hosttools import certificates
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.process import Answer
from simcluster.models.machine.process import Call as Asked
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call
from simcluster.world.apisocket import Server, asked

if TYPE_CHECKING:
    from simcluster.world.world import World

#: What a proxy refuses if nobody says otherwise (kubectl's --reject-paths).
_REJECTED = re.compile(r"^/api/.*/pods/.*/(exec|attach)")
#: What curl says when the tunnel closes at once.
_LOST = "curl: (52) Empty reply from server\n"


def exchanged(machine: Machine, call: Call) -> Outcome:
    """curl, wget or openssl as if it ran on the machine, with the files of whoever calls it."""
    return certificates.beside(machine, call) if call.name == "openssl" else hostnet.run(machine, call)


def forwarded(world: World, namespace: str, pod: str, argv: Sequence[str], call: Call) -> Outcome:
    """curl or wget as if it ran in the pod; a pod that is gone, or whose node is, loses the connection."""
    found = world.api.store.get("pods", namespace, pod)
    node = world.machines.get(str(found["spec"].get("nodeName", ""))) if found is not None else None
    if (
        found is None
        or not isinstance(node, Machine)
        or not node.runs
        or not node.units.units["kubelet.service"].active
    ):
        return Outcome("", _LOST, 52)
    uid = found["metadata"]["uid"]
    sandbox = node.runtime.sandboxes.get(uid)
    living = [one for one in sandbox.containers.values() if one.running] if sandbox is not None else []
    if not living:
        return Outcome("", _LOST, 52)
    return hostnet.in_pod(node, living[0], list(argv), call.stdin(), call) or Outcome("", _LOST, 52)


class Proxy:
    """`kubectl proxy` as a program that listens: it asks the API server in the name of a user."""

    def __init__(self, api: Server, user: User) -> None:
        self._api = api
        self._user = user

    def exposition(self, call: Asked) -> None:
        """It has no metrics of its own: those are the API server's."""

    def answer(self, call: Asked) -> Answer:
        """The API server's answer."""
        if _REJECTED.search(call.path):
            return Answer("ok", 403, "Forbidden", content_type="text/plain; charset=utf-8")
        if call.secure:
            return Answer("reset")
        return asked(self._api, call, self._user)


@dataclass
class _Desk(HostSandbox):
    """The desk's own network, in which one proxy listens."""

    proxy: Any = None
    mounts: tuple[()] = ()  # no certificates

    def container_on(self, port: int) -> Any:
        """The proxy, whatever the port: who asks has looked which it is."""
        return self

    def listens_on(self, port: int) -> bool:
        """It does."""
        return True

    @property
    def program(self) -> Any:
        """What answers."""
        return self.proxy


def proxied(machine: Machine, proxy: Proxy, argv: Sequence[str], call: Call) -> Outcome:
    """curl or wget that asks a proxy at the desk, which stands beside a machine."""
    container = host_container(machine)
    before = container.sandbox
    desk = _Desk("", "desk", "", before.node, before.address, host_network=True, names=before.names, hosts="")
    desk.proxy = proxy
    container.sandbox = desk
    return hostnet.in_pod(machine, container, list(argv), call.stdin(), call) or Outcome("", _LOST, 52)
