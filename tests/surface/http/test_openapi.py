"""What the served OpenAPI allows, made up by schemathesis and sent to the application: nothing is too much for it."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from simcluster.eval.serving.endpoints import AGENT
from simcluster.session import sandbox
from simcluster.session.door import SessionDoor
from simcluster.surface.http.application import Application
from simcluster.surface.http.authentication import Credentials
from simcluster.surface.http.door import Turns
from simcluster.surface.http.kubernetes import KubernetesApi

TOKEN = "secret"
DOCUMENTS = ("api/v1", "apis/apps/v1", "apis/batch/v1", "apis/rbac.authorization.k8s.io/v1", "apis/autoscaling/v2")
#: Operations of each document, and requests of each, in the quick suite.
OPERATIONS, EXAMPLES = 6, 3


class Asgi:
    """The application of a sandbox, asked in process."""

    def __init__(self) -> None:
        api = KubernetesApi(Credentials(AGENT, TOKEN))
        api.turns = Turns(SessionDoor(sandbox(1)))
        self._application = Application(api)

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, bytes]:
        """One request; the client hangs up when it has sent it, and so no watch stays open."""
        parts = urlsplit(target)
        named = {"authorization": f"Bearer {TOKEN}", **headers}
        scope = {
            "type": "http",
            "method": method,
            "path": parts.path,
            "raw_path": parts.path.encode("ascii", "replace"),
            "query_string": parts.query.encode("ascii", "replace"),
            "headers": [(_bytes(name.lower()), _bytes(value)) for name, value in named.items()],
        }
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self._application(scope, receive, send))
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def _bytes(text: str) -> bytes:
    return text.encode("latin-1", "replace")


@pytest.fixture(scope="module")
def server() -> Asgi:
    return Asgi()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::hypothesis.errors.NonInteractiveExampleWarning")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_nothing_that_the_document_allows_is_too_much(server: Asgi, document: str) -> None:
    check_document(server, document, whole=False)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::hypothesis.errors.NonInteractiveExampleWarning")
@pytest.mark.slow(sample=0)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_operation_of_a_document_is_too_much(server: Asgi, document: str) -> None:
    check_document(server, document, whole=True)


def check_document(server: Asgi, document: str, *, whole: bool) -> None:
    """Send requests of some operations of a document, or of all."""
    schemathesis = pytest.importorskip("schemathesis")
    code, body = server.ask("GET", f"/openapi/v3/{document}", {})
    assert code == 200
    schema = schemathesis.openapi.from_dict(json.loads(body))
    found = [result.ok() for result in schema.get_all_operations()]
    step = 1 if whole else max(1, len(found) // OPERATIONS)
    for operation in found[::step]:
        check(server, operation, 20 if whole else EXAMPLES)


def check(server: Asgi, operation: Any, examples: int) -> None:
    """Send requests of one operation."""

    @seed(1)
    @settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        given_ = case.as_transport_kwargs(base_url="http://x")
        query = given_.get("params") or {}
        target = urlsplit(given_["url"]).path + ("?" + urlencode(query, doseq=True) if query else "")
        body = json.dumps(given_["json"]).encode() if "json" in given_ else given_.get("data") or b""
        body = body if isinstance(body, bytes) else str(body).encode()
        headers = {k: v for k, v in (given_.get("headers") or {}).items() if k.lower() != "authorization"}
        code, text = server.ask(given_["method"], target, headers, body)
        assert code < 500 or code == 503, f"{given_['method']} {target}\n{body[:500]!r}\n{text[:500]!r}"

    ask()
