"""What a followed request tells the tracing library of a program: which span has ended, and how."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from simcluster.models.traffic.cluster.causes import Cause
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec

SERVER, CLIENT = "server", "client"


class Context(NamedTuple):
    """What travels with a request: its trace, and the span that made it.

    Attributes:
        trace, span: 64-bit numbers; span 0: none yet.
        wide: whether the trace has an identity of 128 bits, as the library says that began it.
    """

    trace: int
    span: int = 0
    wide: bool = False


class Finished(NamedTuple):
    """A span that has ended.

    Attributes:
        context: its trace and its own number; parent: number of the span above it, 0 of a root.
        operation: what the server did; None of a client's span, whose `call` says what was asked.
        host, port: whom a client asked, as written; address: as it resolved.
        peer: address of the other side, where it is known.
        status: HTTP status of a server's answer.
        cause: why it failed, None if it did not.
    """

    context: Context
    parent: int
    start_ns: int
    end_ns: int
    operation: OperationSpec | None
    call: CallSpec | None
    host: str = ""
    port: int = 0
    address: str = ""
    peer: str = ""
    status: int = 200
    cause: Cause | None = None

    @property
    def kind(self) -> str:
        """`server` or `client`."""
        return SERVER if self.operation is not None else CLIENT


class Printed(NamedTuple):
    """What a followed request prints.

    Attributes:
        context: of the span in which it does.
        key: of the request's details; start_ns: when it came to the server; t_ns: now.
        log: templates of such requests; of them those of the begin, or those of the end.
        status, cause: of the answer, or of the call that failed.
    """

    context: Context
    key: int
    start_ns: int
    t_ns: int
    log: tuple[LogTemplate, ...]
    begins: bool
    status: int
    cause: Cause | None


class Tracer(Protocol):
    """The tracing library of one process.

    Attributes:
        ratio: share of the traces that begin here which are sampled; wide: as of `Context`.
        correlates: whether lines of the program's log have ids of spans.
    """

    ratio: float
    wide: bool
    correlates: bool

    def notes(self, call: CallSpec) -> bool:
        """Whether a call has a span of its own."""

    def end(self, span: Finished) -> None:
        """A sampled span has ended now."""
