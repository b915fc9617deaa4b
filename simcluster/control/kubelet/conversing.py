"""What a kubelet sends over the network by a clock: the renewals of its Lease, and probes of its pods.

Left out: watches, logs and commands of users, pulls of images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.links.conversation import OK, REFUSED, TIMEOUT, Conversation

if TYPE_CHECKING:
    from simcluster.control.kubelet.kubelet import Kubelet
    from simcluster.control.kubelet.probeworker import ProbeWorker

#: A Lease's PUT and its answer (pkg/kubelet/nodelease): protobuf and HTTP/2 headers over TLS; magnitudes.
_LEASE_BYTES = 520
#: How often it is renewed: a quarter of nodeLeaseDurationSeconds.
_RENEW_S = 10
#: A probe's request (`GET /path HTTP/1.1`, Host, User-Agent, Accept, Connection) without its path.
_PROBE_BYTES = 104
_ANSWER_BYTES = 160


def conversations(kubelet: Kubelet) -> list[Conversation]:
    """Who is asked by a kubelet, and how often."""
    machine = kubelet.machine
    found = []
    server, _, port = str(getattr(kubelet.api, "address", "")).rpartition(":")
    if server and port.isdigit():
        place = (server, int(port))
        found.append(
            Conversation(
                machine.address, place, place, 1.0 / _RENEW_S, 0.0, OK, _LEASE_BYTES, _LEASE_BYTES, 4 * MILLISECOND
            )
        )
    for worker in kubelet.workers.values():
        for probe in worker.probes.workers.values():
            one = _probe(kubelet, probe)
            if one is not None:
                found.append(one)
    return found


def _probe(kubelet: Kubelet, probe: ProbeWorker) -> Conversation | None:
    """The requests of one probe; None if it asks nobody over the network, or does not run."""
    spec = probe.spec
    kind = next((name for name in ("httpGet", "tcpSocket", "grpc") if spec.get(name)), "")
    if not kind or probe.stopped:
        return None
    container = kubelet.machine.runtime.newest(probe.hosted.uid, probe.container["name"])
    if container is None or not container.running:
        return None
    target = spec[kind]
    port = target.get("port")
    if not isinstance(port, int):
        ports = probe.container.get("ports") or ()
        port = next((entry["containerPort"] for entry in ports if entry.get("name") == port), 0)
    if not port:
        return None
    place = (target.get("host") or container.sandbox.address, int(port))
    listening = container.sandbox.listens_on(int(port))
    outcome = OK if listening else REFUSED
    if kubelet.machine.network.connect(place, kubelet.machine.address) == TIMEOUT:
        outcome = TIMEOUT
    path = str(target.get("path") or "/") if kind == "httpGet" else ""
    sent = 0 if kind == "tcpSocket" else _PROBE_BYTES + len(path)
    period_s = probe.period_ns / SECOND
    return Conversation(
        kubelet.machine.address,
        place,
        place,
        1.0 / period_s,
        1.0,
        outcome,
        sent,
        _ANSWER_BYTES if sent else 0,
        MILLISECOND,
        probe.next_ns,
        path,
    )
