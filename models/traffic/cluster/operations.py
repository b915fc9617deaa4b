"""What a server does for a request: cost, latency and the calls it makes. Immutable once loaded.

These are the compiled form of an application's behaviour: `models.apps.behaviour` reads
them from YAML. CPU cost is in nanoseconds of one core, latency in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from simcluster.engine import MILLISECOND, SECOND, Shared
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.policy import Policy, Retries
from simcluster.models.traffic.graph.service import Cache, Heap, Queue, RateLimit, Shedding
from simcluster.models.traffic.graph.skin import Http, Stores, Thrift

#: Operation of a server nobody described.
ANY_PATH = "GET /"
#: How long a client of a server nobody described waits: curl and browsers give up much later,
#: HTTP client libraries and ingress controllers commonly at 10 s or more.
DEFAULT_TIMEOUT_NS = 10 * SECOND
#: Clients of stores and of Thrift services, and the protocol of clients; every other one speaks gRPC.
STORES: tuple[str, ...] = get_args(Stores)
THRIFT: tuple[str, ...] = get_args(Thrift)
HTTP: tuple[str, ...] = get_args(Http)
_TALKS = {**dict.fromkeys(HTTP, "http"), **dict.fromkeys((*STORES, *THRIFT), "tcp")}
#: Share of calls that open a connection: HTTP/1.1 clients keep idle ones alive, drivers of stores have pools;
#: gRPC keeps one connection open for all calls, and PyMySQL has no pool: its programs connect for each query.
OPENING = {
    **dict.fromkeys(HTTP, 0.02),
    **dict.fromkeys((*STORES, *THRIFT), 0.005),
    "pymysql": 1.0,
}


@dataclass(frozen=True)
class LogTemplate(Shared):
    """One line a program prints, when a request `begins` or when it ends.

    `{name}` marks are replaced, nothing else is interpreted. It is left out of requests that took no longer than
    `above_ns`.
    """

    text: str
    stream: str = "stdout"
    begins: bool = False
    above_ns: int = -1


@dataclass(frozen=True)
class CallSpec(Shared):
    """One call of an operation to another service.

    Attributes:
        env: environment variable of the caller that holds `host:port` (or a URL).
        operation: operation of the callee; its first one if it has none of that name.
        count: calls a request makes, one after the other; 0.25 means one in four requests.
        timeout_ns: deadline of one attempt.
        retries: further attempts after a failed one.
        required: whether the request fails when the call fails; otherwise it is degraded.
        client: whose words describe a failed connection (`go-grpc`, `python-grpc`, ...).
        answer: what the caller then tells its own caller; `{cause}` is the reason it was given.
        log: what the caller prints when the call fails; `done` when it succeeds.
        status: HTTP status that the caller then answers.
        connects: share of calls that open a new connection; negative: as `OPENING` says of the client.
        login: user, password and database with which it introduces itself; `{env_NAME}` stands for a variable.
        policy: the rest of how it calls (back-off, budget, breaker, cancellation, ...), in the words of
            bare graphs; its time-out and attempts are those of `timeout_ns` and `retries`.
        asynchronous: a message: nobody waits for its answer, or hears that it is lost.
        caches: of the caller's, in which the request must have missed; else the call is not made.
    """

    env: str
    operation: str
    count: float = 1.0
    timeout_ns: int = DEFAULT_TIMEOUT_NS
    retries: int = 0
    required: bool = True
    client: str = "go-grpc"
    answer: str = "{cause}"
    log: tuple[LogTemplate, ...] = ()
    done: tuple[LogTemplate, ...] = ()
    status: int = 500
    login: tuple[str, str, str] | tuple[()] = ()
    policy: Policy | None = field(default=None, hash=False)
    connects: float = -1.0
    asynchronous: bool = False
    caches: tuple[str, ...] = ()

    @property
    def opening(self) -> float:
        """Share of calls that open a new connection."""
        return self.connects if self.connects >= 0.0 else OPENING.get(self.client, 0.0)

    def rules(self) -> Policy:
        """How it calls, complete."""
        policy = self.policy or Policy()
        if self.retries and policy.retries is None:
            policy = policy.model_copy(update={"retries": Retries(attempts=1 + self.retries)})
        return policy if policy.timeout else policy.model_copy(update={"timeout": self.timeout_ns})


@dataclass(frozen=True)
class OperationSpec(Shared):
    """One kind of request a server answers.

    Attributes:
        path: HTTP path (`/product/{id}` matches one segment) or gRPC method; "" matches none.
        cpu_ns: mean CPU time of one request; `cpu_cv` its coefficient of variation.
        latency_ns: mean time it waits without using the CPU; `latency_cv` likewise.
        steps: one after the other; the calls of a step run in parallel.
        log: what the server prints for a request that succeeded.
        status: HTTP status of a success.
        work: the law of the CPU time, where mean and variation do not tell it all.
        failure: probability that it answers with an error after its work; `answer` is what it then says.
        error_work: CPU time of a request that fails, before the error is answered.
        contention_ns: added to the work for every other request in the container when it begins.
        allocation: bytes it allocates, if not as the heap says.
    """

    name: str
    path: str = ""
    cpu_ns: int = 2 * MILLISECOND
    cpu_cv: float = 1.0
    latency_ns: int = 0
    latency_cv: float = 0.5
    steps: tuple[tuple[CallSpec, ...], ...] = ()
    log: tuple[LogTemplate, ...] = ()
    status: int = 200
    work: Law | None = field(default=None, hash=False)
    failure: float = 0.0
    answer: str = ""
    contention_ns: int = 0
    error_work: Law | None = field(default=None, hash=False)
    allocation: int | None = None


@dataclass(frozen=True)
class ServiceSpec(Shared):
    """All that the traffic needs to know about a kind of server.

    Attributes:
        protocol: `http`, `grpc`, `tcp`, or `any` (answers whoever speaks).
        operations: the first one answers calls and probes that name none.
        threads: how many requests it computes at once; 0 is as many as there are cores.
        queue: requests that may wait; more are refused by a reset.
        workers: how many requests may be inside and not waiting; each holds its worker while it waits for
            what it calls. 0 is no limit.
        queueing: what becomes of those who find the queue full, and who is served first.
        shed, rate_limit, heap, sharing: as in bare graphs; `caches` likewise, by name.
        idle_cores: CPU it uses without a request.
        memory_base, memory_per_request: bytes.
        mix: how its users spread over the operations, by name; empty means the first one.
        writes: packets in which it writes an answer.
    """

    name: str
    protocol: str
    operations: tuple[OperationSpec, ...]
    threads: int = 0
    queue: int = 1024
    idle_cores: float = 0.0
    memory_base: int = 16 << 20
    memory_per_request: int = 64 << 10
    workers: int = 0
    queueing: Queue | None = field(default=None, hash=False)
    shed: Shedding | None = field(default=None, hash=False)
    rate_limit: RateLimit | None = field(default=None, hash=False)
    heap: Heap | None = field(default=None, hash=False)
    sharing: Literal["none", "processor"] = "none"
    caches: tuple[tuple[str, Cache], ...] = field(default=(), hash=False)
    mix: tuple[tuple[str, float], ...] = ()
    writes: int = 1

    def operation_index(self, name: str) -> int | None:
        """Index of the operation with that name; of one that asks for no particular thing, 0; else None."""
        for index, operation in enumerate(self.operations):
            if operation.name == name:
                return index
        return 0 if name in ("", ANY_PATH) else None

    def objection(self, operation: str) -> str:
        """Why users who come over TLS refuse to ask for an operation: "" if they do not."""
        return ""

    def understands(self, client: str) -> bool:
        """Whether it speaks what a client speaks."""
        return self.protocol in ("any", _TALKS.get(client, "grpc"))

    @cached_property
    def needs_state(self) -> bool:
        """Whether closed forms do not describe it even while nothing waits."""
        contended = any(operation.contention_ns or operation.error_work is not None for operation in self.operations)
        adapts = self.shed is not None and self.shed.adaptive is not None
        return contended or adapts or self.sharing != "none" or self.heap is not None or self.rate_limit is not None

    def match(self, path: str) -> int | None:
        """Index of the operation that answers an HTTP path, or None."""
        path = path.partition("?")[0] or "/"
        for index, operation in enumerate(self.operations):
            if operation.path and _matches(operation.path, path):
                return index
        return None


def _matches(pattern: str, path: str) -> bool:
    if pattern == "*" or pattern == path:
        return True
    if "{" not in pattern:
        return False
    wanted, given = pattern.split("/"), path.split("/")
    return len(wanted) == len(given) and all(w == g or w.startswith("{") for w, g in zip(wanted, given, strict=True))
