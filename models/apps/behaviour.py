"""How an image behaves, as its YAML says: ports, start, cost, calls, signals, log lines.

Declarative only: numbers, names and text with `{marks}`. Durations are Go durations
(`5s`, `250ms`), CPU is in milliseconds of one core, sizes are quantities (`64Mi`).
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from simcluster.engine import MILLISECOND, Shared, parse_duration
from simcluster.models.traffic.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_SIZE = re.compile(r"(\d+)(Ki|Mi|Gi|k|M|G)?")


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _size(value: object) -> object:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) * _UNITS[match[2] or ""] if match else value


def json_text(text: str) -> str:
    """The inside of a JSON string, with Go's escapes of <, > and &."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    return quoted.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


Duration = Annotated[int, BeforeValidator(_duration), Field(ge=0)]
Size = Annotated[int, BeforeValidator(_size), Field(ge=0)]
Client = Literal["go-grpc", "python-grpc", "node-grpc", "java-grpc", "stackexchange-redis", "http"]


class _Part(BaseModel, Shared):
    model_config = ConfigDict(extra="forbid", frozen=True)


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


class CallModel(_Part):
    """One call to another service; `CallSpec` says what the keys mean."""

    env: str
    operation: str
    count: float = Field(default=1.0, gt=0.0)
    timeout: Duration = 20_000 * MILLISECOND  # grpc-go: a connection attempt is given up after 20 s
    retries: int = Field(default=0, ge=0, le=100)
    on_failure: Literal["error", "degraded"] = "error"
    answer: str = "{cause}"
    error: str = "{cause}"
    message: str = ""
    status: int = 500
    log: tuple[Line, ...] = ()
    done: tuple[Line, ...] = ()

    def compiled(self, client: str, around: RequestLog, marks: dict[str, str]) -> CallSpec:
        """The compiled form."""
        marks = {
            **marks,
            "error_json": json_text(self.error).replace("{cause}", "{cause_json}"),
            "error": self.error,
            "message": self.message,
        }
        lines = self.log
        if not lines:
            failed = (*around.begin, *around.error, *around.end) if around.error else ()
            lines = failed if self.on_failure == "error" else around.degraded
        return CallSpec(
            env=self.env,
            operation=self.operation,
            count=self.count,
            timeout_ns=self.timeout,
            retries=self.retries,
            required=self.on_failure == "error",
            client=client,
            answer=self.answer,
            log=tuple(line.template(**marks) for line in lines),
            done=tuple(line.template(**marks) for line in self.done),
            status=self.status,
        )


class StepModel(_Part):
    """Calls that run in parallel, or one call."""

    parallel: tuple[CallModel, ...] = ()
    call: CallModel | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> StepModel:
        if (self.call is None) == (not self.parallel):
            raise ValueError("a step has either 'call' or 'parallel'")
        return self

    @property
    def calls(self) -> tuple[CallModel, ...]:
        """The calls of the step."""
        return self.parallel or ((self.call,) if self.call is not None else ())


class OperationModel(_Part):
    """One kind of request."""

    name: str
    path: str = ""
    method: str = "GET"
    shown_path: str = ""  # as the log shows it; by default `path`
    cpu_ms: float = Field(gt=0.0)
    cpu_cv: float = Field(default=1.0, ge=0.0)
    latency: Duration = 0
    latency_cv: float = Field(default=0.5, ge=0.0)
    steps: tuple[StepModel, ...] = ()
    status: int = 200
    log: tuple[Line, ...] = ()

    def compiled(self, client: str, around: RequestLog) -> OperationSpec:
        """The compiled form."""
        marks = {"method": self.method, "shown_path": self.shown_path or self.path}
        lines = (*around.begin, *self.log, *around.end)
        return OperationSpec(
            name=self.name,
            path=self.path,
            cpu_ns=round(self.cpu_ms * MILLISECOND),
            cpu_cv=self.cpu_cv,
            latency_ns=self.latency,
            latency_cv=self.latency_cv,
            steps=tuple(tuple(call.compiled(client, around, marks) for call in step.calls) for step in self.steps),
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


class Behaviour(_Part):
    """One program.

    Attributes:
        data_store: `redis` if it keeps data that outlives a request; empty for none.
        admission: whether it is an admission webhook whose rules stand in its environment.
    """

    name: str
    image: Image
    program: str
    protocol: Literal["http", "grpc", "tcp", "any"]
    ports: tuple[Port, ...]
    client: Client = "go-grpc"
    data_store: Literal["", "redis"] = ""
    admission: bool = False
    threads: int = Field(default=0, ge=0)
    queue: int = Field(default=1024, ge=1)
    idle_cpu_ms: float = Field(default=1.0, ge=0.0)  # per second
    memory: Size = 16 << 20
    memory_per_request: Size = 64 << 10
    startup: Startup = Startup()
    sigterm: Sigterm = Sigterm()
    probe_cpu_ms: float = Field(default=0.5, ge=0.0)
    health_paths: tuple[str, ...] = ()
    request_log: RequestLog = RequestLog()
    operations: tuple[OperationModel, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Behaviour:
        names = [operation.name for operation in self.operations]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"operation {name!r} is described twice")
        return self

    def service(self, mix: tuple[tuple[str, float], ...] = ()) -> ServiceSpec:
        """What the traffic needs to know of it."""
        return ServiceSpec(
            name=self.name,
            protocol=self.protocol,
            operations=tuple(operation.compiled(self.client, self.request_log) for operation in self.operations),
            threads=self.threads,
            queue=self.queue,
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


class Application(_Part):
    """One application's behaviour file; `namespace` is where it usually lives."""

    application: str
    namespace: str = "default"
    users: Users | None = None
    images: tuple[Behaviour, ...]

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
