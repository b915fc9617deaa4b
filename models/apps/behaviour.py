"""How an image behaves, as its YAML says: a service of a call graph (`models.traffic.graph`) with a skin.

What it does for a request, its calls, queues, limits and caches are said in the words of bare graphs; the skin says
the rest: image, ports, protocol, start, probes, signals, memory, log lines. Declarative only: numbers, names and
text with `{marks}`. Durations are Go durations (`5s`, `250ms`), sizes are quantities (`64Mi`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcluster.engine import MILLISECOND
from simcluster.engine.content import model_of, parsed, read_document
from simcluster.models.apps.defects import AnyDefect
from simcluster.models.apps.garbage import Garbage
from simcluster.models.apps.stores.demand import DataSet, IoModel, Kind
from simcluster.models.tracing.settings import Tracing
from simcluster.models.traffic.cluster.compilation import compiled
from simcluster.models.traffic.cluster.messages import MESSAGE_NS
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.graph.flat import Site
from simcluster.models.traffic.graph.laws import THREADS, NonNegative, Part, Whole
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.refusal import explained
from simcluster.models.traffic.graph.service import (
    Bytes,
    Call,
    Operation,
    Queue,
    Send,
    Service,
    variable_of,
)
from simcluster.models.traffic.graph.skin import Client, Line, Setting
from simcluster.models.traffic.graph.steps import walk


def json_text(text: str) -> str:
    """The inside of a JSON string, with Go's escapes of <, > and &."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    return quoted.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


#: A queue without bound: more requests than memory holds.
UNBOUNDED = 1 << 40
#: Writes of an answer by runtime: Node's http2 sends headers, data and trailers apart (grpc-js, two packets and a half
#: an answer in recordings); others write once.
WRITES = {"node-grpc": 2}
#: grpc-go: a connection attempt is given up after 20 s.
DEFAULT_CALL_NS = 20_000 * MILLISECOND


class RequestLog(Part):
    """What a program prints around every request.

    `begin` and `end` frame a request. `error` stands between them when a call of it failed
    and the request with it, `degraded` is printed alone when it went on without. Further
    marks: `{method}`, `{shown_path}`, and of the call `{error}`, `{error_json}`, `{message}`.
    """

    begin: tuple[Line, ...] = ()
    end: tuple[Line, ...] = ()
    error: tuple[Line, ...] = ()
    degraded: tuple[Line, ...] = ()

    @property
    def opening(self) -> tuple[Line, ...]:
        """`begin`, which is printed then."""
        return tuple(line.model_copy(update={"at": "begin"}) for line in self.begin)


class AppOperation(Operation):
    """One kind of request, in the words of bare graphs, and its skin.

    Attributes:
        path, method: by which an HTTP request asks for it; `shown_path` is what the log shows, by default `path`.
        status: of a success.
        log: what the program prints for a success, between what its `request_log` says.
        io: of a store's operation: what it does to the data.
    """

    path: str = ""
    method: str = "GET"
    shown_path: str = ""
    status: int = 200
    log: tuple[Line, ...] = ()
    io: IoModel | None = None

    @model_validator(mode="after")
    def _can_be_counted(self) -> AppOperation:
        for where, step in walk(self.steps, ()):
            if (step.work or step.wait) is not None and "cached" in where:
                raise ValueError("work or a wait behind a cache; give it a service of its own and call that")
            if step.call is not None and step.call.patience is not None:
                raise ValueError("patience is not for applications: their calls have a timeout")
        return self

    def looked_up(self) -> list[str]:
        """The caches in which its steps look something up."""
        return [step.cached.cache for _, step in walk(self.steps, ()) if step.cached is not None]


class _Dresser:
    """Calls of an operation with what is said of them."""

    def __init__(self, client: str, around: RequestLog, operation: AppOperation) -> None:
        self._client = client
        self._around = around
        self._marks = {"method": operation.method, "shown_path": operation.shown_path or operation.path}

    def templates(self, lines: tuple[Line, ...], **marks: str) -> tuple[LogTemplate, ...]:
        """Lines whose marks that are known by now are replaced; the others are when the line is read."""
        found = []
        for line in lines:
            text = line.text
            for mark, value in {**self._marks, **marks}.items():
                text = text.replace("{" + mark + "}", value)
            found.append(LogTemplate(text, line.stream, line.at == "begin"))
        return tuple(found)

    def call(self, site: Site) -> CallSpec:
        """The compiled form of a call or message."""
        call = site.call
        plain = CallSpec(
            env=call.env or variable_of(call.service),
            operation=call.operation or "",
            count=call.times * site.reach,
            client=call.client or self._client,
            caches=site.caches,
        )
        if isinstance(call, Send):
            policy = Policy.model_construct(network=call.network, priority=call.priority)
            return replace(plain, timeout_ns=MESSAGE_NS, required=False, policy=policy, asynchronous=True)
        return replace(
            plain,
            timeout_ns=call.timeout or call.deadline or DEFAULT_CALL_NS,
            retries=call.attempts - 1,
            required=call.required,
            answer=call.answer,
            log=self._failed(call),
            done=self.templates(call.done),
            status=call.status,
            policy=_policy(call),
            login=(call.user, call.password, call.database),
        )

    def _failed(self, call: Call) -> tuple[LogTemplate, ...]:
        around = self._around
        lines = call.log
        if not lines and call.required:
            lines = (*around.opening, *around.error, *around.end) if call.error else ()
        elif not lines:
            lines = around.degraded
        json_error = json_text(call.error).replace("{cause}", "{cause_json}")
        return self.templates(
            lines, error_json=json_error, error=call.error, message=call.message, attempts=str(call.attempts)
        )


def _policy(call: Call) -> Policy | None:
    """All that `CallSpec` has no name of its own for; None if there is nothing."""
    given = {name: getattr(call, name) for name in Policy.model_fields if name in call.model_fields_set}
    retries = call.retries
    simple = retries is None or (retries.backoff is None and retries.budget is None and len(retries.on) == 3)
    return None if simple and given.keys() <= {"timeout", "retries"} else Policy.model_construct(**given)


class Startup(Part):
    """What happens between exec and listening.

    `cpu_seconds` of work on at most `threads` cores, then `latency` of waiting. `requires`
    names environment variables without which the program prints `missing` (`{name}` is the
    variable) and exits with `missing_exit_code`.
    """

    cpu_seconds: float = Field(default=0.02, ge=0.0)
    threads: int = Field(default=1, ge=1)
    latency: NonNegative = 0
    log: tuple[Line, ...] = ()
    ready_log: tuple[Line, ...] = ()
    requires: tuple[str, ...] = ()
    missing: Line | None = None
    missing_exit_code: int = 2


class WarmUp(Part):
    """What is slow in the beginning: code not yet compiled, empty caches.

    For so long (`lasts`) after it began to listen a request costs `factor` times its CPU time.
    """

    lasts: NonNegative
    factor: float = Field(gt=1.0)


class Sigterm(Part):
    """What SIGTERM does: ignored, or `drain` of further service and then `exit_code`."""

    ignore: bool = False
    drain: NonNegative = 0
    exit_code: int = 0
    log: tuple[Line, ...] = ()


class Port(Part):
    """A port: `number`, or the value of the environment variable `env` if that is set."""

    number: int = Field(gt=0, lt=65536)
    env: str = ""


class Image(Part):
    """An image in its repository, and others that hold the same: `mirrors`."""

    repository: str
    mirrors: tuple[str, ...] = ()
    tags: tuple[str, ...] = Field(min_length=1)
    size: Bytes

    @property
    def repositories(self) -> tuple[str, ...]:
        """All that hold it."""
        return (self.repository, *self.mirrors)


class Report(Part):
    """What a program says of itself from time to time, and how often; marks of `text`: see `models.apps.selfreport`."""

    every: NonNegative
    text: str


class Behaviour(Service):
    """One program: a service of a graph, whose replicas and balancer are the cluster's, and its skin.

    Without `workers` as many requests are inside as come; without `cores` as many compute as the container has cores.

    Attributes:
        name: its key in the file.
        data_store: which data store it is part of, if it keeps data that outlives a request; empty for none.
        data: of a store: data sets that its operations name.
        operator: name of the operator that works in this process; empty for none.
        logic: which program of its application's says what it does besides serving; empty for none.
        idle_cpu_ms, probe_cpu_ms: CPU in milliseconds of one core, without a request a second, and of a probe.
        settings: variables that set keys of the program.
        report: what it says of itself from time to time.
        tracing: the tracing library in it, if there is one.
        warm_up: how slow it is in the beginning, if that is worth telling.
        defects: what it does with its work that it should not.
        garbage: what its collector has to do, if GOGC is to mean something.
    """

    name: str = ""
    image: Image
    program: str
    protocol: Literal["http", "grpc", "tcp", "any"]
    ports: tuple[Port, ...]
    client: Client = "go-grpc"
    data_store: Literal["", Kind] = ""
    data: Mapping[str, DataSet] = Field(default_factory=dict)
    operator: str = ""
    logic: str = ""
    workers: Annotated[Whole, Field(ge=1, le=THREADS)] | None = None
    queue: Queue = Field(default_factory=partial(Queue, bound=1024))
    idle_cpu_ms: float = Field(default=1.0, ge=0.0)
    memory: Bytes = 16 << 20
    memory_per_request: Bytes = 64 << 10
    startup: Startup = Field(default_factory=Startup)
    sigterm: Sigterm = Field(default_factory=Sigterm)
    probe_cpu_ms: float = Field(default=0.5, ge=0.0)
    health_paths: tuple[str, ...] = ()
    request_log: RequestLog = Field(default_factory=RequestLog)
    settings: tuple[Setting, ...] = ()
    report: Report | None = None
    tracing: Tracing | None = None
    warm_up: WarmUp | None = None
    defects: tuple[AnyDefect, ...] = ()
    garbage: Garbage | None = None
    operations: Annotated[dict[str, AppOperation], Field(min_length=1)]  # type: ignore[assignment]

    @model_validator(mode="after")
    def _is_a_program(self) -> Behaviour:
        for key in ("replicas", "balancer"):
            if key in self.model_fields_set:
                raise ValueError(f"{key}: that is for the cluster to say")
        for name, operation in self.operations.items():
            for cache in operation.looked_up():
                if cache not in self.caches:
                    known = ", ".join(self.caches) or "none"
                    raise ValueError(f"{name!r} looks up in cache {cache!r}; there are: {known}")
        return self

    @property
    def asked(self) -> tuple[AppOperation, ...]:
        """The operations in the order of their numbers."""
        return tuple(self.operations.values())

    def cold(self) -> Behaviour:
        """What it is like before it is warm."""
        return self if self.warm_up is None else self.model_copy(update={"speed": self.speed / self.warm_up.factor})

    def service(self, mix: tuple[tuple[str, float], ...] = ()) -> ServiceSpec:
        """What the traffic needs to know of it."""
        return ServiceSpec(
            name=self.name,
            protocol=self.protocol,
            operations=tuple(self._compiled(name, operation) for name, operation in self.operations.items()),
            threads=self.cores or (0 if self.blocking else self.workers or 0),
            queue=self.queue.bound if self.queue.bound is not None else UNBOUNDED,
            workers=(self.workers or 0) if self.blocking else 0,
            queueing=self.queue,
            shed=self.shed,
            rate_limit=self.rate_limit,
            heap=self.heap,
            sharing=self.sharing,
            caches=tuple(self.caches.items()),
            idle_cores=self.idle_cpu_ms / 1000.0,
            memory_base=self.memory,
            memory_per_request=self.memory_per_request,
            mix=mix,
            writes=WRITES.get(self.client, 1),
        )

    def _compiled(self, name: str, operation: AppOperation) -> OperationSpec:
        around = self.request_log
        dresser = _Dresser(self.client, around, operation)
        log = dresser.templates((*around.opening, *operation.log, *around.end))
        spec = compiled(name, operation, self.speed, dresser.call)
        return replace(spec, path=operation.path, status=operation.status, log=log)


class Users(Part):
    """How people use the application: the program they enter by, and what they ask for."""

    entry: str
    rps: float = Field(gt=0.0)
    mix: dict[str, float]


class StoreLoad(Part):
    """What an application keeps in stores of one kind, and asks of them."""

    store: Kind
    data: Mapping[str, DataSet] = Field(default_factory=dict)
    operations: dict[str, AppOperation] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _data_exist(self) -> StoreLoad:
        for name, operation in self.operations.items():
            if operation.io is not None and operation.io.data and operation.io.data not in self.data:
                known = ", ".join(self.data) or "none"
                raise ValueError(f"operation {name!r} is on data {operation.io.data!r}; there are: {known}")
        return self


class Application(Part):
    """One application's behaviour file; `namespace` is where it usually lives, `stores` what it keeps in stores."""

    application: str
    description: str = ""
    namespace: str = "default"
    users: Users | None = None
    services: dict[str, Behaviour] = Field(default_factory=dict)
    stores: tuple[StoreLoad, ...] = ()

    @model_validator(mode="after")
    def _references_exist(self) -> Application:
        for name, service in self.services.items():
            service.__dict__["name"] = name  # frozen for everybody else
        if self.users is None:
            return self
        entry = self.services.get(self.users.entry)
        if entry is None:
            raise ValueError(f"users enter by {self.users.entry!r}, which is not described")
        for name in self.users.mix:
            if name not in entry.operations:
                raise ValueError(f"users ask {entry.name} for {name!r}; it has {', '.join(entry.operations)}")
        return self

    @property
    def images(self) -> tuple[Behaviour, ...]:
        """All programs, in the order of the file."""
        return tuple(self.services.values())

    def mix_of(self, name: str) -> tuple[tuple[str, float], ...]:
        """The users' mix if the program is their entry."""
        return tuple(self.users.mix.items()) if self.users is not None and self.users.entry == name else ()


def read_application(path: Path, text: str | None = None) -> Application:
    """Read a behaviour file, or a text that `path` stands for.

    Raises:
        ContentError: with the file, the line and what would be right.
    """
    document = read_document(path, words=True) if text is None else parsed(path, text, words=True)
    return model_of(document, Application, explained)
