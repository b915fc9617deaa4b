"""What the session wants of a client library: a few primitives, of which each library has its own form."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from typing import Any

from tests.surface.http.matrix.kubectl import PATIENCE_S, Outcome

Json = dict[str, Any]
PATCHES = {
    "strategic": "application/strategic-merge-patch+json",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


class NotOfferedError(Exception):
    """The library has nothing of the kind."""


class RefusedError(Exception):
    """The server said no."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(f"{code} {message}")
        self.code = code


class Client:
    """One library; a primitive that it does not offer raises NotOfferedError. All raise RefusedError.

    Kinds are named as `apps/v1/Deployment` or `v1/Pod`; without a namespace the object belongs to none.
    """

    name = ""
    version = ""

    def server(self) -> Json:
        """`/version`."""
        raise NotOfferedError

    def raw(self, path: str) -> str:
        """GET of any path."""
        raise NotOfferedError

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        raise NotOfferedError

    def list(self, kind: str, namespace: str = "default", labels: str = "", fields: str = "") -> list[Json]:
        """`namespace=""`: of all."""
        raise NotOfferedError

    def create(self, body: Json, namespace: str = "default") -> Json:
        raise NotOfferedError

    def replace(self, body: Json, namespace: str = "default") -> Json:
        raise NotOfferedError

    def patch(self, kind: str, name: str, body: Any, how: str = "strategic", namespace: str = "default") -> Json:
        """`how`: strategic, merge, json or apply."""
        raise NotOfferedError

    def part(self, kind: str, name: str, part: str, body: Json, namespace: str = "default") -> Json:
        """POST of `eviction` or `token`, strategic PATCH of `scale` or `ephemeralcontainers`."""
        raise NotOfferedError

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        raise NotOfferedError

    def watch(self, kind: str, name: str, namespace: str = "default") -> str:
        """The type of the first event of an object."""
        raise NotOfferedError

    def logs(self, pod: str, **options: Any) -> str:
        """Options: tail, previous, timestamps, follow."""
        raise NotOfferedError

    def exec(self, pod: str, command: list[str], stdin: str = "") -> tuple[str, str, int]:
        """Both streams and the exit code."""
        raise NotOfferedError

    def attach(self, pod: str) -> str:
        """Something that the pod writes."""
        raise NotOfferedError

    def forwarded(self, pod: str, port: int) -> str:
        """The answer to `GET /` through a port-forward."""
        raise NotOfferedError

    def close(self) -> None:
        """End it."""


def session(client: Client, calls: Iterable[tuple[str, Any]]) -> Iterator[Outcome]:
    """Run the calls in order; one fails if it raises or gives something false."""
    signal.signal(signal.SIGALRM, _late)
    for name, call in calls:
        if call is None:
            yield Outcome(name, "none")
            continue
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        try:
            found = call(client)
        except NotOfferedError:
            yield Outcome(name, "none")
        except Exception as problem:
            yield Outcome(name, "failed", f"{type(problem).__name__}: {problem}"[:600])
        else:
            yield Outcome(name, "passed" if found else "failed", str(found))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _late(number: int, frame: object) -> None:
    raise TimeoutError(f"not within {PATIENCE_S} s")
