"""The lines that were pushed to a real Loki before its answers were recorded.

The push was recorded up to its 17th line; the rest follows from the answers (lines, their number, and bytes).
"""

from __future__ import annotations

import json
from typing import Any

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql.http import handle
from simcluster.telemetry.logql.store import LogStore

FIRST = 1795294144
NOW_NS = 1795294204 * SECOND


def _frontend(at: int) -> str:
    status = 200 if at % 10 else 500
    return f'level=info ts={at} msg="handled request" path=/hotels status={status} duration={3 * at}ms'


def _geo(at: int) -> str:
    level, message = ("info", "nearby") if at % 5 else ("error", "mongo: no reachable servers")
    return json.dumps({"level": level, "msg": message, "latency": at / 10})


def _stream(app: str, pod: str, container: str, lines: list[tuple[int, str]]) -> dict[str, Any]:
    labels = {"namespace": "hotel", "app": app, "pod": pod, "container": container}
    return {"stream": labels, "values": [[str((FIRST + at) * SECOND), line] for at, line in lines]}


def pushed() -> bytes:
    """The body of the request."""
    streams = [
        _stream("frontend", "frontend-dcbb7d98b-8bbgr", "frontend", [(at, _frontend(at)) for at in range(50)]),
        _stream("geo", "geo-74cbd8bdf9-ff8j2", "geo", [(at, _geo(at)) for at in range(50)]),
        _stream(
            "mongodb",
            "mongodb-0",
            "mongod",
            [(30, "Listening on 27017"), (40, "Authentication failed for user hotel")],
        ),
    ]
    return json.dumps({"streams": streams}).encode()


def store() -> LogStore:
    """A store with those lines."""
    found = LogStore()
    answer = handle(("POST", "/loki/api/v1/push", "", pushed()), found, NOW_NS)
    assert answer == (204, {}, b"")
    return found
