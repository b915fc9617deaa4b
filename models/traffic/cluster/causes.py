"""Why a request failed: kinds, and the chain of calls from the outermost to the innermost."""

from __future__ import annotations

from dataclasses import dataclass

from simcluster.engine import Shared
from simcluster.models.traffic.cluster.operations import CallSpec

REFUSED = "refused"  # RST: nobody listens, or a Service without endpoints
TIMEOUT = "timeout"  # nobody answers the connection
DEADLINE = "deadline"  # connected, but no answer in time
NO_SUCH_HOST = "no such host"
DNS_TIMEOUT = "dns timeout"  # the name servers do not answer
RESET = "reset"  # the server dropped it: queue full
STATUS = "5xx"  # an answer came, and it says that something behind failed
PROTOCOL = "protocol"  # the two sides speak different protocols
DENIED = "denied"  # the server answers that this client may not (login, rights, too many of them)
UNCONNECTED = "not connected"  # the caller's own kernel has no port or descriptor; `text` is the error's name
UNKNOWN = "unknown call"  # another program listens there: it answers Unimplemented, 404 or something illegible
BROKEN = "not sent"  # the caller's own breaker or throttle refused the attempt

#: Index of a kind in the statistics. `timeout` and `deadline` are both "timeout" to users.
KINDS = (
    *(REFUSED, TIMEOUT, DEADLINE, NO_SUCH_HOST, RESET, STATUS, PROTOCOL, DNS_TIMEOUT, BROKEN, DENIED, UNCONNECTED),
    UNKNOWN,
)
KIND_INDEX = {kind: index for index, kind in enumerate(KINDS)}
USER_WORDS = {DEADLINE: TIMEOUT, DNS_TIMEOUT: TIMEOUT, UNKNOWN: "4xx"}


@dataclass(frozen=True)
class Cause(Shared):
    """One way a call fails.

    Attributes:
        kind: one of `KINDS`, at the innermost connection.
        host, port: as the innermost caller wrote them; `address` as it resolved ("" if not).
        path: the calls that failed because of it, outermost first.
        text: what the innermost server answered, in its own words; "" if it said nothing.
    """

    kind: str
    host: str = ""
    port: int = 0
    address: str = ""
    path: tuple[CallSpec, ...] = ()
    text: str = ""

    def behind(self, call: CallSpec) -> Cause:
        """The same cause seen by a caller whose call `call` failed by it."""
        return Cause(self.kind, self.host, self.port, self.address, (call, *self.path), self.text)

    @property
    def kind_at_caller(self) -> str:
        """What the outermost caller sees: the innermost kind, or an answer that reports a failure."""
        return self.kind if len(self.path) <= 1 else STATUS
