"""What an application says about a call, besides how it is made: addresses, clients, answers, log lines.

A bare graph has none of it: its calls name a service, and nobody reads a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from simcluster.models.traffic.graph.laws import Number, Part

#: Clients of stores, of Thrift services, and all clients, whose words describe a failed connection.
Stores = Literal[
    "stackexchange-redis", "mgo", "postgres-go", "mysql-go", "redis-go", "memcache-go",
    "mongoc", "redis-plus-plus", "libmemcached", "psycopg2", "pymysql", "sarama", "mysql-cj", "amqp-java",
]  # fmt: skip
Thrift = Literal["thrift-cpp", "thrift-lua"]
Http = Literal["http", "spring-rest", "spring-webflux", "nginx"]
Client = Literal["go-grpc", "python-grpc", "node-grpc", "java-grpc", Http, Thrift, Stores]
#: How often something is done for a request: 0.25 is once in four requests.
Times = Annotated[Number, Field(gt=0.0, le=1000.0)]


class Line(Part):
    """One log line: `text` with marks such as `{request_id}`; see `models.apps.marks`.

    `at` is when a request prints it: at its `begin`, or at its `end`, when it is known how it went.
    """

    text: str
    stream: Literal["stdout", "stderr"] = "stdout"
    at: Literal["begin", "end"] = "end"


class Setting(Part):
    """One variable.

    Attributes:
        env: its name.
        sets: the key that it sets, with dots (`retries.attempts`).
        disabled_by: a value with which the key's first part is left out altogether (no breaker at all).
        besides: further keys to set with it, where the file does not say them.
        plus: what is added to the number (a variable that counts retries, a key that counts attempts).
    """

    env: str
    sets: str
    disabled_by: str = ""
    besides: Mapping[str, Any] = Field(default_factory=dict)
    plus: int = 0

    @field_validator("sets")
    @classmethod
    def _a_path(cls, value: str) -> str:
        if not all(part.isidentifier() for part in value.split(".")):
            raise ValueError(f"write keys with dots between them, such as retries.attempts, not {value!r}")
        return value


class Address(Part):
    """Whom an application asks, and with what.

    Attributes:
        env: variable that holds the callee's address; by default, that of `service` (`graph.service.variable_of`).
        client: with what it calls; by default what the program calls everybody with.
    """

    env: str = ""
    client: Client | None = None


class Words(Address):
    """What an application says of a call.

    Attributes:
        user, password, database: with which it introduces itself to a store; `{env_NAME}` stands for a variable.
        answer: what the caller then tells its own caller; `{cause}` is the reason it was given.
        error, message: the same in the lines of the program's `request_log`.
        status: HTTP status that the caller answers when the call fails.
        log, done: what it prints when the call fails, and when it succeeds.
        settings: variables that set keys of the call.
    """

    user: str = ""
    password: str = ""
    database: str = ""
    answer: str = "{cause}"
    error: str = "{cause}"
    message: str = ""
    status: int = 500
    log: tuple[Line, ...] = ()
    done: tuple[Line, ...] = ()
    settings: tuple[Setting, ...] = ()
