"""The Lease by which every kube-apiserver tells that it lives, in `kube-system`.

Source: kube-apiserver 1.32 (pkg/controlplane, feature APIServerIdentity): the name is made
of the host's name, the Lease lasts an hour and is renewed about every ten seconds.
Left out: the removal of Leases of servers that are gone.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation, Timer, format_rfc3339

_LEASES = "leases.coordination.k8s.io"
_NAMESPACE = "kube-system"
_DURATION_S = 3600
_RENEW_NS = 10 * SECOND
_USER = User("system:apiserver", ("system:masters", "system:authenticated"))


def identity_of(host: str) -> str:
    """The name of a server on a host.

    >>> identity_of("control-plane")
    'apiserver-s2bgmziuyb2qrwpoihfaumwpf4'
    """
    digest = hashlib.sha256(host.encode()).digest()[:16]
    return "apiserver-" + b32encode(digest).decode().rstrip("=").lower()


class IdentityLease:
    """Keeps the Lease of the one API server that runs."""

    def __init__(self, sim: Simulation, api: Api) -> None:
        self.sim = sim
        self.client = Client(api, _USER, "kube-apiserver")
        self.holder = ""
        self.host = ""
        self._name = ""
        self._timer: Timer | None = None

    def begin(self, host: str, process: str) -> None:
        """A process on the host serves: it is the holder from now on."""
        self.end()
        stream = self.sim.stream("apiserver identity", process)
        digits = f"{stream.bits():016x}{stream.bits():016x}"
        instance = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        self.host, self._name = host, identity_of(host)
        self.holder = f"{self._name}_{instance}"
        self._timer = self.sim.every(_RENEW_NS, self._renew, first_ns=self.sim.now)

    def end(self) -> None:
        """It serves no more; the Lease stays until it is taken over or runs out."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def leapt(self) -> None:
        """Idle time was skipped."""
        if self._timer is not None:
            self._renew()

    def _renew(self) -> None:
        name, now = self._name, format_rfc3339(self.sim.now, digits=6)
        spec: Json = {"holderIdentity": self.holder, "leaseDurationSeconds": _DURATION_S, "renewTime": now}
        known = self.client.cache.get(_LEASES, _NAMESPACE, name)
        try:
            if known is None:
                labels = {"apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": self.host}
                metadata: Json = {"name": name, "namespace": _NAMESPACE, "labels": labels}
                lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
                self.client.create(_LEASES, _NAMESPACE, lease)
            elif known["spec"].get("holderIdentity") == self.holder:
                self.client.renew(_NAMESPACE, name, now)
            else:
                self.client.patch(_LEASES, _NAMESPACE, name, {"spec": spec}, kind="merge")
        except ApiError:
            return  # without etcd nothing is written; the next renewal comes
