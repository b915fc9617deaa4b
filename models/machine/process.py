"""What the main process of a container does, and what goes over to it: calls, answers, commands and their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from simcluster.engine import Parted
from simcluster.models.userland.outcome import Outcome
from simcluster.telemetry.metrics.columns import Samples
from simcluster.telemetry.traces.span import Span

#: `Call.trust` of a caller that does not look at certificates.
ANY_SERVER = "any"


class Call(NamedTuple):
    """One request to a port of a process: a probe, a curl, an API call.

    Attributes:
        kind: `http`, `grpc` or `tcp`.
        port: destination port.
        path: HTTP path or gRPC service name.
        host: the Host header; empty if the caller names none.
        method: of HTTP.
        secure: whether it comes over TLS.
        headers: of HTTP, names in lower case.
        body: what is sent.
        trust: over TLS, the authorities (PEM) that the caller believes, or `ANY_SERVER`.
        source: the caller's address; empty where nobody looks.
    """

    kind: str
    port: int
    path: str = "/"
    host: str = ""
    method: str = "GET"
    secure: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    trust: str = ""
    source: str = ""


class Answer(NamedTuple):
    """What came back.

    Attributes:
        outcome: `ok` (an answer came), `refused`, `reset`, or `untrusted` (the caller refuses the certificate).
        status: HTTP status, or for gRPC health 200 when SERVING.
        body: text of the answer.
        delay_ns: from connecting to the last byte; a client with a shorter timeout sees a timeout.
        content_type: of the body; empty: what one guesses from it.
    """

    outcome: str
    status: int = 0
    body: str = ""
    delay_ns: int = 0
    content_type: str = ""


class StartFailure(Exception):
    """The entry point cannot be executed.

    The message is what runc says after `unable to start container process: `, such as
    `exec: "/no-such-binary": stat /no-such-binary: no such file or directory`. A catalog
    raises it from `program_for`.
    """


class Process(ABC, Parted):
    """The main process of one run of a container.

    It lives from `start` until the container exits: by the container's `exit(code)`, or
    killed. All its timers must be harmless afterwards (`stop` is called once, always).
    """

    @property
    def comm(self) -> str:
        """What its file is called; empty if that is not known."""
        return ""

    @abstractmethod
    def start(self) -> None:
        """The process was started (exec of the entry point)."""

    def terminate(self) -> None:
        """SIGTERM. Default: a process without a handler that is PID 1 ignores it."""

    def stop(self) -> None:
        """The container has exited for whatever reason: cancel timers, leave the traffic."""

    def denied(self, call: str, errno: str) -> None:
        """The kernel refuses it something that it needs for its work: `fork` (EAGAIN), `write` (ENOSPC)."""

    def listens_on(self, port: int) -> bool:
        """Whether the process accepts connections on the port now."""
        return False

    def speaks(self, port: int) -> str:
        """The protocol of a port: `http`, `grpc`, `tcp` for any other; empty where nobody can say."""
        return ""

    def answer(self, call: Call) -> Answer:
        """Answer one call on a port on which it listens."""
        return Answer("refused")

    def steady(self, call: Call) -> object | None:
        """What a health check goes by: as long as it is the same (`==`), `answer(call)` succeeds well within a second.

        None if only an answer can tell.
        """
        return None

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Its metrics, as a scrape of the path finds them; an answer that refuses, or None if there are none."""
        return None

    def take_spans(self, spans: Sequence[Span]) -> bool:
        """Spans that a tracing library sends to one of its ports; whether it took them."""
        return False

    def rest(self) -> None:
        """Idle time is about to be skipped: users that it sends by itself stay at home."""

    def resume(self) -> None:
        """Idle time was skipped, and all goes on: its users are there again."""

    def leapt(self, since_ns: int) -> None:
        """Idle time since an instant was skipped (`World.leap`): renew what must not be old, word what was printed."""

    def stop_collecting(self) -> None:
        """What watches a cluster takes nothing in any more (`World.stop_collecting`); others collect nothing."""

    def admission_review(self, call: Call, review: dict[str, Any]) -> Answer | None:
        """Answer an AdmissionReview that the API server posts; None if the program knows nothing of such.

        The body of the answer is JSON text. `review` must not be changed.
        """
        return None

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """Run a command of the image (`redis-cli ping`); None if the image has no such tool."""
        return None

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """`run` with something on standard input; by default nobody reads it."""
        return self.run(argv)
