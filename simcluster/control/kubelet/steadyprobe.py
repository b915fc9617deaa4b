"""Attempts of a probe that need not be made: nothing that its answer depends on has changed since a success.

A success after a success changes nothing, and only what could make the next attempt fail is looked at: the
container and its picture, what listens, the way there, and what the program itself vouches for (`Program.steady`).
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.objects import ApiObject, Json
from simcluster.control.kubelet.hostedpod import HostedPod
from simcluster.control.kubelet.probing import asked
from simcluster.control.kubelet.runs import PodPicture
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Call


class Steady(NamedTuple):
    """What a successful attempt went by.

    Attributes:
        container: the one that is probed; `listener` answers.
        call: what it is asked; `mark` is what its program vouched by.
        versions: of the network, and of the runtime's containers.
    """

    pod: ApiObject
    picture: PodPicture
    container: Container
    listener: Container
    call: Call
    mark: object
    versions: tuple[int, int]

    def lasts(self, hosted: HostedPod) -> bool:
        """Whether an attempt made now would succeed for the same reasons."""
        if hosted.pod is not self.pod or hosted.reported is not self.picture:
            return False
        runtime, listener = hosted.host.machine.runtime, self.listener
        if self.container.state != "running" or listener.state != "running":
            return False
        if (runtime.network.version, runtime.changes) != self.versions or not _is_clear(hosted):
            return False
        return listener.program.listens_on(self.call.port) and listener.program.steady(self.call) == self.mark


def steady_of(hosted: HostedPod, spec: Json, container_spec: Json, container: Container) -> Steady | None:
    """What the success of an attempt goes by; None if only attempts can tell."""
    prober, runtime = hosted.host.prober, hosted.host.machine.runtime
    found = asked(spec, container_spec, container)
    if found is None or not _is_clear(hosted):
        return None
    host, call = found
    listener = prober.listener(container, host, call.port)
    mark = None if listener is None else listener.program.steady(call)
    if listener is None or mark is None:
        return None
    versions = (runtime.network.version, runtime.changes)
    return Steady(hosted.pod, hosted.reported, container, listener, call, mark, versions)


def _is_clear(hosted: HostedPod) -> bool:
    """Whether the way to the node's pods adds nothing and loses nothing."""
    machine = hosted.host.machine
    return machine.network.links.calm and not machine.os.conntrack.dropped_share
