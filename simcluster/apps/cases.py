"""What the tests do with an application: `cases.yaml` in its folder.

It is deployed, must become healthy under its users, every operation of theirs must succeed, and single requests must
be answered as listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from simcluster.engine.content import Content, Nanoseconds, load_content
from simcluster.models.apps.folder import AppFolder

#: Nodes of a cluster beside its control plane, if nobody says otherwise.
WORKERS = 3


class Users(Content):
    """Who uses an application: `rps` requests a second to the Service `entry`.

    They come `after` the application has become available: one that is cold is not given its whole load at once. They
    ask for operations as the application says, or in a `mix` of their own: `host/path` of an Ingress. With `tls` they
    come to its port 443 and refuse a certificate that is out of date or another's.
    """

    entry: str
    rps: float = Field(gt=0)
    after: Nanoseconds = 0
    mix: tuple[tuple[str, float], ...] = ()
    tls: bool = False

    @field_validator("mix", mode="before")
    @classmethod
    def _in_pairs(cls, value: Any) -> Any:
        return tuple(value.items()) if isinstance(value, Mapping) else value


class Request(Content):
    """One request to a Service of the application's namespace, and the status of its answer."""

    service: str
    port: int = Field(gt=0, lt=65536)
    path: str = "/"
    status: int = 200


class AppCase(Content):
    """What an application must do.

    Attributes:
        users: nobody, if all it does is to serve the cluster.
        ratio: share of the requests of every operation that must succeed.
        each_rps: how often each of its operations is asked for by users who ask for nothing else.
        requests: single requests.
        workers: how many nodes it needs beside the control plane's.
        also: other applications that it needs in its cluster.
    """

    users: Users | None = None
    ratio: float = Field(default=0.99, gt=0.0, le=1.0)
    each_rps: float = Field(default=5.0, gt=0.0)
    requests: tuple[Request, ...] = ()
    workers: int = Field(default=WORKERS, ge=1, le=100)
    also: tuple[str, ...] = ()


def case_of(folder: AppFolder) -> AppCase:
    """The case of an application that can be deployed; without a file nobody uses it. Raises ContentError."""
    path = folder.path / "cases.yaml"
    return load_content(path, AppCase) if path.is_file() else AppCase()
