"""How an image behaves, as its YAML says: ports, start, cost, calls, signals, log lines.

Declarative only: numbers, names and text with `{marks}`. Durations are Go durations
(`5s`, `250ms`), CPU is in milliseconds of one core, sizes are quantities (`64Mi`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from simcluster.engine import MILLISECOND, Shared, parse_duration
from simcluster.models.apps.defects import AnyDefect
from simcluster.models.apps.settings import Setting
from simcluster.models.apps.stores.demand import DataSet, IoModel, Kind
from simcluster.models.traffic.cluster.messages import MESSAGE_NS
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.policy import Policy, Retries
from simcluster.models.traffic.graph.service import Cache, Heap, Queue, RateLimit, Shedding

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_SIZE = re.compile(r"(\d+)(Ki|Mi|Gi|k|M|G)?")


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _size(value: object) -> object:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) * _UNITS[match[2] or ""] if match else value


def _queue(value: object) -> object:
    return {"bound": value} if isinstance(value, int) else value


def json_text(text: str) -> str:
    """The inside of a JSON string, with Go's escapes of <, > and &."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    return quoted.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


Duration = Annotated[int, BeforeValidator(_duration), Field(ge=0)]
Size = Annotated[int, BeforeValidator(_size), Field(ge=0)]
#: A queue without bound: more requests than memory holds.
UNBOUNDED = 1 << 40
#: grpc-go: a connection attempt is given up after 20 s.
DEFAULT_CALL_NS = 20_000 * MILLISECOND
Stores = Literal["stackexchange-redis", "mgo", "postgres-go", "mysql-go", "redis-go", "memcache-go"]
Client = Literal["go-grpc", "python-grpc", "node-grpc", "java-grpc", "http", Stores]


class _Part(BaseModel, Shared):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Line(_Part):
    """One log line: `text` with marks such as `{request_id}`; see `models.apps.logs`."""

    text: str
    stream: Literal["stdout", "stderr"] = "stdout"

    def template(self, **marks: str) -> LogTemplate:
        """The compiled form; `marks` are replaced now, the others when the line is read."""
        text = self.text
        for mark, value in marks.items():
            text = text.replace("{" + mark + "}", value)
        return LogTemplate(text, self.stream)


class RequestLog(_Part):
    """What a program prints around every request.

    `begin` and `end` frame a request. `error` stands between them when a call of it failed
    and the request with it, `degraded` is printed alone when it went on without. Further
    marks: `{method}`, `{shown_path}`, and of the call `{error}`, `{error_json}`, `{message}`.
    """

    begin: tuple[Line, ...] = ()
    end: tuple[Line, ...] = ()
    error: tuple[Line, ...] = ()
    degraded: tuple[Line, ...] = ()


class CallModel(Policy):
    """One call to another service: whom and what about it, and how, in the words of bare graphs (`Policy`).

    Attributes:
        env: variable that holds the callee's address; `operation` is what it is asked for.
        count: calls a request makes (`times` in bare graphs); 0.25 is one in four requests.
        retries: as in bare graphs, or a number of further attempts.
        client: with what it calls; by default what the program calls everybody with.
        user, password, database: with which it introduces itself to a store; `{env_NAME}` stands for a variable.
        on_failure: `degraded` if the request goes on without (`required: false` in bare graphs).
        answer, error, message, status, log, done: what is said of a failure and of a success; see `CallSpec`.
        settings: variables that set keys of the call.
    """

    env: str
    operation: str
    count: float = Field(default=1.0, gt=0.0)
    retries: Retries | None = None
    client: Client | None = None
    user: str = ""
    password: str = ""
    database: str = ""
    on_failure: Literal["error", "degraded"] = "error"
    answer: str = "{cause}"
    error: str = "{cause}"
    message: str = ""
    status: int = 500
    log: tuple[Line, ...] = ()
    done: tuple[Line, ...] = ()
    settings: tuple[Setting, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _other_words(cls, data: Any) -> Any:
        """The words of bare graphs for what has a second name here, and retries as a number."""
        if not isinstance(data, Mapping):
            return data
        data = dict(data)
        if "times" in data:
            data["count"] = data.pop("times")
        if "required" in data:
            data["on_failure"] = "error" if data.pop("required") else "degraded"
        if isinstance(data.get("retries"), int):
            data["retries"] = {"attempts": 1 + data["retries"]}
        return data

    @model_validator(mode="after")
    def _gives_up_by_a_timeout(self) -> CallModel:
        if self.patience is not None:
            raise ValueError("patience is not in the language of applications: their calls have a timeout")
        return self

    def policy(self) -> Policy | None:
        """All that `CallSpec` has no name of its own for; None if there is nothing."""
        plain = {"timeout", "retries"}
        given = {name: getattr(self, name) for name in Policy.model_fields if name in self.model_fields_set}
        simple = self.retries is None or (self.retries.backoff is None and self.retries.budget is None)
        if simple and not set(given) - plain and (self.retries is None or len(self.retries.on) == 3):
            return None
        return Policy.model_construct(**given)

    def compiled(self, client: str, around: RequestLog, marks: dict[str, str]) -> CallSpec:
        """The compiled form."""
        marks = {
            **marks,
            "error_json": json_text(self.error).replace("{cause}", "{cause_json}"),
            "error": self.error,
            "message": self.message,
            "attempts": str(self.attempts),
        }
        lines = self.log
        if not lines:
            failed = (*around.begin, *around.error, *around.end) if around.error else ()
            lines = failed if self.on_failure == "error" else around.degraded
        return CallSpec(
            env=self.env,
            operation=self.operation,
            count=self.count,
            timeout_ns=self.timeout or self.deadline or DEFAULT_CALL_NS,
            retries=self.attempts - 1,
            required=self.on_failure == "error",
            client=self.client or client,
            answer=self.answer,
            log=tuple(line.template(**marks) for line in lines),
            done=tuple(line.template(**marks) for line in self.done),
            status=self.status,
            policy=self.policy(),
            login=(self.user, self.password, self.database),
        )


class SendModel(_Part):
    """A message nobody waits for, as in bare graphs; `count` of a request, to the address in the variable `env`."""

    env: str
    operation: str = ""
    count: float = Field(default=1.0, gt=0.0)
    client: Client | None = None
    network: Law | None = None
    priority: int | None = None

    def compiled(self, client: str, around: RequestLog, marks: dict[str, str]) -> CallSpec:
        """The compiled form."""
        policy = Policy.model_construct(network=self.network, priority=self.priority)
        return CallSpec(
            env=self.env, operation=self.operation, count=self.count, timeout_ns=MESSAGE_NS, required=False,
            client=self.client or client, policy=policy, asynchronous=True,
        )  # fmt: skip


class CachedModel(_Part):
    """A look-up in one of the program's `caches`; `hit` is the time it takes, on a miss the steps of `miss` follow."""

    cache: str
    hit: Duration = 0
    miss: tuple[StepModel, ...] = Field(min_length=1)


class StepModel(_Part):
    """Calls that run in parallel, or one call, or a message, or a look-up in a cache."""

    parallel: tuple[CallModel | SendModel, ...] = ()
    call: CallModel | None = None
    send: SendModel | None = None
    cached: CachedModel | None = None

    @model_validator(mode="after")
    def _one_of_all(self) -> StepModel:
        given = [name for name in type(self).model_fields if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("a step has exactly one of 'call', 'parallel', 'send' and 'cached'")
        return self

    @property
    def calls(self) -> tuple[CallModel | SendModel, ...]:
        """The calls and messages of the step that do not depend on a cache."""
        one = self.call or self.send
        return self.parallel or ((one,) if one is not None else ())

    def compiled(
        self, client: str, around: RequestLog, marks: dict[str, str], caches: tuple[str, ...] = ()
    ) -> list[tuple[CallSpec, ...]]:
        """The compiled form: steps that follow each other."""
        if self.cached is not None:
            behind = (*caches, self.cached.cache)
            return [part for step in self.cached.miss for part in step.compiled(client, around, marks, behind)]
        found = (call.compiled(client, around, marks) for call in self.calls)
        return [tuple(replace(call, caches=caches) if caches else call for call in found)]

    def looked_up(self) -> list[CachedModel]:
        """The look-ups of the step, those behind others too."""
        if self.cached is None:
            return []
        return [self.cached, *(found for step in self.cached.miss for found in step.looked_up())]


class OperationModel(_Part):
    """One kind of request.

    Attributes:
        work: law of its CPU time, as in bare graphs; or `cpu_ms` and `cpu_cv` (1 is exponential).
        latency, latency_cv: time without CPU (`wait` in bare graphs).
        failure: probability that it answers with an error after its work.
        contention, allocation: as in bare graphs.
        io: of a store's operation: what it does to the data.
    """

    name: str
    path: str = ""
    method: str = "GET"
    shown_path: str = ""  # as the log shows it; by default `path`
    cpu_ms: float = Field(default=0.0, ge=0.0)
    cpu_cv: float = Field(default=1.0, ge=0.0)
    work: Law | None = None
    failure: float = Field(default=0.0, ge=0.0, le=1.0)
    contention: Duration = 0
    allocation: Size | None = None
    latency: Duration = 0
    latency_cv: float = Field(default=0.5, ge=0.0)
    io: IoModel | None = None
    steps: tuple[StepModel, ...] = ()
    status: int = 200
    log: tuple[Line, ...] = ()

    @model_validator(mode="after")
    def _costs_something(self) -> OperationModel:
        if (self.work is None) == (self.cpu_ms <= 0.0):
            raise ValueError("say either work or cpu_ms (above 0)")
        return self

    def compiled(self, client: str, around: RequestLog) -> OperationSpec:
        """The compiled form."""
        marks = {"method": self.method, "shown_path": self.shown_path or self.path}
        lines = (*around.begin, *self.log, *around.end)
        return OperationSpec(
            name=self.name,
            path=self.path,
            cpu_ns=round(self.work.mean_ns if self.work is not None else self.cpu_ms * MILLISECOND),
            cpu_cv=math.sqrt(self.work.scv) if self.work is not None else self.cpu_cv,
            work=self.work,
            failure=self.failure,
            contention_ns=self.contention,
            allocation=self.allocation,
            latency_ns=self.latency + sum(found.hit for step in self.steps for found in step.looked_up()),  # integers
            latency_cv=self.latency_cv,
            steps=tuple(part for step in self.steps for part in step.compiled(client, around, marks)),
            log=tuple(line.template(**marks) for line in lines),
            status=self.status,
        )


class Startup(_Part):
    """What happens between exec and listening.

    `cpu_seconds` of work on at most `threads` cores, then `latency` of waiting. `requires`
    names environment variables without which the program prints `missing` (`{name}` is the
    variable) and exits with `missing_exit_code`.
    """

    cpu_seconds: float = Field(default=0.02, ge=0.0)
    threads: int = Field(default=1, ge=1)
    latency: Duration = 0
    log: tuple[Line, ...] = ()
    ready_log: tuple[Line, ...] = ()
    requires: tuple[str, ...] = ()
    missing: Line | None = None
    missing_exit_code: int = 2


class WarmUp(_Part):
    """What is slow in the beginning: code not yet compiled, empty caches.

    For so long (`lasts`) after it began to listen a request costs `factor` times its CPU time.
    """

    lasts: Duration
    factor: float = Field(gt=1.0)


class Sigterm(_Part):
    """What SIGTERM does: ignored, or `drain` of further service and then `exit_code`."""

    ignore: bool = False
    drain: Duration = 0
    exit_code: int = 0
    log: tuple[Line, ...] = ()


class Port(_Part):
    """A port: `number`, or the value of the environment variable `env` if that is set."""

    number: int = Field(gt=0, lt=65536)
    env: str = ""


class Image(_Part):
    """An image in its repository."""

    repository: str
    tags: tuple[str, ...] = Field(min_length=1)
    size: Size


class Report(_Part):
    """What a program says of itself from time to time, and how often; marks of `text`: see `models.apps.selfreport`."""

    every: Duration
    text: str


class Behaviour(_Part):
    """One program.

    Attributes:
        data_store: which data store it is part of, if it keeps data that outlives a request; empty for none.
        data: of a store: data sets that its operations name.
        threads: requests that compute at once (`cores` in bare graphs); 0 is as many as there are cores.
        workers: requests inside at once, each holding a worker while it waits for its calls; 0 is no limit.
        queue: as in bare graphs, or its bound alone.
        shed, rate_limit, heap, caches: as in bare graphs.
        operator: name of the operator that works in this process; empty for none.
        logic: which program of its application's says what it does besides serving; empty for none.
        settings: variables that set keys of the program.
        report: what it says of itself from time to time.
        warm_up: how slow it is in the beginning, if that is worth telling.
        defects: what it does with its work that it should not.
    """

    name: str
    image: Image
    program: str
    protocol: Literal["http", "grpc", "tcp", "any"]
    ports: tuple[Port, ...]
    client: Client = "go-grpc"
    data_store: Literal["", Kind] = ""
    data: Mapping[str, DataSet] = Field(default_factory=dict)
    operator: str = ""
    logic: str = ""
    threads: int = Field(default=0, ge=0)
    workers: int = Field(default=0, ge=0)
    queue: Annotated[Queue, BeforeValidator(_queue)] = Field(default_factory=partial(Queue, bound=1024))
    shed: Shedding | None = None
    rate_limit: RateLimit | None = None
    heap: Heap | None = None
    caches: Mapping[str, Cache] = Field(default_factory=dict)
    idle_cpu_ms: float = Field(default=1.0, ge=0.0)  # per second
    memory: Size = 16 << 20
    memory_per_request: Size = 64 << 10
    startup: Startup = Field(default_factory=Startup)
    sigterm: Sigterm = Field(default_factory=Sigterm)
    probe_cpu_ms: float = Field(default=0.5, ge=0.0)
    health_paths: tuple[str, ...] = ()
    request_log: RequestLog = Field(default_factory=RequestLog)
    settings: tuple[Setting, ...] = ()
    report: Report | None = None
    warm_up: WarmUp | None = None
    defects: tuple[AnyDefect, ...] = ()
    operations: tuple[OperationModel, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Behaviour:
        names = [operation.name for operation in self.operations]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"operation {name!r} is described twice")
        return self

    @model_validator(mode="after")
    def _caches_are_there(self) -> Behaviour:
        for operation in self.operations:
            for found in (each for step in operation.steps for each in step.looked_up()):
                if found.cache not in self.caches:
                    known = ", ".join(self.caches) or "none"
                    raise ValueError(f"{operation.name!r} looks up in cache {found.cache!r}; there are: {known}")
        return self

    @model_validator(mode="after")
    def _can_be_cold(self) -> Behaviour:
        if self.warm_up is not None and any(operation.work is not None for operation in self.operations):
            raise ValueError("warm_up goes with operations that have a cpu_ms, not a work")
        return self

    def cold(self) -> Behaviour:
        """What it is like before it is warm."""
        if self.warm_up is None:
            return self
        slow = [o.model_copy(update={"cpu_ms": o.cpu_ms * self.warm_up.factor}) for o in self.operations]
        return self.model_copy(update={"operations": tuple(slow)})

    def service(self, mix: tuple[tuple[str, float], ...] = ()) -> ServiceSpec:
        """What the traffic needs to know of it."""
        return ServiceSpec(
            name=self.name,
            protocol=self.protocol,
            operations=tuple(operation.compiled(self.client, self.request_log) for operation in self.operations),
            threads=self.threads,
            queue=self.queue.bound if self.queue.bound is not None else UNBOUNDED,
            workers=self.workers,
            queueing=self.queue,
            shed=self.shed,
            rate_limit=self.rate_limit,
            heap=self.heap,
            caches=tuple(self.caches.items()),
            idle_cores=self.idle_cpu_ms / 1000.0,
            memory_base=self.memory,
            memory_per_request=self.memory_per_request,
            mix=mix,
        )


class Users(_Part):
    """How people use the application: the program they enter by, and what they ask for."""

    entry: str
    rps: float = Field(gt=0.0)
    mix: dict[str, float]


class StoreLoad(_Part):
    """What an application keeps in stores of one kind, and asks of them."""

    store: Kind
    data: Mapping[str, DataSet] = Field(default_factory=dict)
    operations: tuple[OperationModel, ...] = ()

    @model_validator(mode="after")
    def _data_exist(self) -> StoreLoad:
        for operation in self.operations:
            if operation.io is not None and operation.io.data and operation.io.data not in self.data:
                known = ", ".join(self.data) or "none"
                raise ValueError(f"operation {operation.name!r} is on data {operation.io.data!r}; there are: {known}")
        return self


class Application(_Part):
    """One application's behaviour file; `namespace` is where it usually lives, `stores` what it keeps in stores."""

    application: str
    description: str = ""
    namespace: str = "default"
    users: Users | None = None
    images: tuple[Behaviour, ...]
    stores: tuple[StoreLoad, ...] = ()

    @model_validator(mode="after")
    def _references_exist(self) -> Application:
        if self.users is None:
            return self
        entry = next((image for image in self.images if image.name == self.users.entry), None)
        if entry is None:
            raise ValueError(f"users enter by {self.users.entry!r}, which is not described")
        known = [operation.name for operation in entry.operations]
        for name in self.users.mix:
            if name not in known:
                raise ValueError(f"users ask {entry.name} for {name!r}; it has {', '.join(known)}")
        return self

    def mix_of(self, name: str) -> tuple[tuple[str, float], ...]:
        """The users' mix if the program is their entry."""
        return tuple(self.users.mix.items()) if self.users is not None and self.users.entry == name else ()
