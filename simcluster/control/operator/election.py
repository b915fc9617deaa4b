"""Leader election among the replicas of an operator, by a Lease.

Source: client-go tools/leaderelection: a candidate takes the Lease when it has not seen it
renewed for its duration, by its own clock; a leader that cannot renew for the deadline gives
up. Defaults of client-go users: lease 15 s, renew deadline 10 s, retry 2 s.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, thaw
from simcluster.control.operator.connection import PodConnection
from simcluster.engine import SECOND, Simulation, format_rfc3339

LEASES = "leases.coordination.k8s.io"
LEASE_NS, RENEW_DEADLINE_NS, RETRY_NS = 15 * SECOND, 10 * SECOND, 2 * SECOND

Logger = Callable[[str, str, str], None]


class LeaderElection:
    """One candidate.

    Args:
        name: of the Lease, in the pod's own namespace.
        identity: what the Lease will hold.
        started, lost: called when it begins to lead, and when it no longer may.

    Attributes:
        leading: whether it holds the Lease.
    """

    def __init__(
        self,
        sim: Simulation,
        connection: PodConnection,
        name: str,
        identity: str,
        *,
        started: Callable[[], None],
        lost: Callable[[], None],
        log: Logger,
    ) -> None:
        self.sim = sim
        self.connection = connection
        self.name = name
        self.identity = identity
        self.leading = False
        self._started = started
        self._lost = lost
        self._log = log
        self._stream = sim.stream("election", connection.container.container_id)
        self._observed = ("", "")
        self._observed_ns = 0
        self._renewed_ns = 0
        self._said = ""

    @property
    def key(self) -> str:
        """Namespace and name of the Lease."""
        return f"{self.connection.namespace}/{self.name}"

    def start(self) -> None:
        """Begin to try."""
        self._log("I", "leaderelection.go:250", f"attempting to acquire leader lease {self.key}...")
        self._turn()

    def leapt(self) -> None:
        """Idle time was skipped: whoever leads has renewed all the while."""
        if self.leading and self._try():
            self._renewed_ns = self.sim.now

    def release(self) -> None:
        """Give the Lease back before an orderly end."""
        if self.leading:
            self.leading = False
            try:
                self._write({"holderIdentity": "", "leaseDurationSeconds": 1})
            except ApiError:
                return

    def _turn(self) -> None:
        """Try to acquire or renew, and come back."""
        try:
            held = self._try()
        except ApiError as error:
            held = False
            if error.code != 409:
                self._complain(error)
        if held:
            self._renewed_ns = self.sim.now
            if not self.leading:
                self.leading = True
                self._log("I", "leaderelection.go:260", f"successfully acquired lease {self.key}")
                self._started()
        elif self.leading and self.sim.now - self._renewed_ns >= RENEW_DEADLINE_NS:
            self.leading = False
            self._log("I", "leaderelection.go:285", f"failed to renew lease {self.key}: timed out waiting")
            self._lost()
            return
        # A candidate's retries are jittered by up to 1.2 periods, a leader's renewals are not.
        jitter = 0 if self.leading else self._stream.uniform_ns(0, RETRY_NS * 6 // 5)
        self.sim.after(RETRY_NS + jitter, self._turn)

    def _complain(self, error: ApiError) -> None:
        text = f"error retrieving resource lock {self.key}: {error.message}"
        self._log("E", "leaderelection.go:332", text)

    def _try(self) -> bool:
        connection, namespace = self.connection, self.connection.namespace
        try:
            lease = connection.get(LEASES, namespace, self.name)
        except ApiError as error:
            if error.code != 404:
                raise
            connection.create(LEASES, namespace, self._fresh())
            return True
        spec = lease.get("spec") or {}
        holder = str(spec.get("holderIdentity") or "")
        seen = (holder, str(spec.get("renewTime") or ""))
        if seen != self._observed:
            self._observed, self._observed_ns = seen, self.sim.now
        duration = int(spec.get("leaseDurationSeconds") or 0) * SECOND
        if holder and holder != self.identity and self.sim.now < self._observed_ns + duration:
            self._watch_holder(holder)
            return False
        changed = thaw(lease)
        changed["spec"] = self._spec(holder, spec)
        connection.update(LEASES, changed)
        return True

    def _watch_holder(self, holder: str) -> None:
        if holder != self._said:
            self._said = holder
            self._log("I", "leaderelection.go:352", f"lock is held by {holder} and has not yet expired")

    def _spec(self, holder: str, before: Json) -> Json:
        now = format_rfc3339(self.sim.now, digits=6)
        kept = holder == self.identity
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": LEASE_NS // SECOND,
            "acquireTime": before.get("acquireTime", now) if kept else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (not kept),
        }

    def _fresh(self) -> Json:
        spec = self._spec(self.identity, {})
        metadata = {"name": self.name, "namespace": self.connection.namespace}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

    def _write(self, spec: Json) -> None:
        spec = {**spec, "renewTime": format_rfc3339(self.sim.now, digits=6)}
        self.connection.patch(LEASES, self.connection.namespace, self.name, {"spec": spec}, kind="merge")
