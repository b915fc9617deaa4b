"""What goes through `kubectl port-forward`: the kubelet of the pod's node connects inside of the pod's network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcluster.models.machine import hostnet
from simcluster.models.machine.hosttools import certificates
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call

if TYPE_CHECKING:
    from simcluster.world.world import World

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
