"""What the clients of every language say of every cause, and conversions of custom resources: whole texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from simcluster.models.apps.conversion import Renaming, converted
from simcluster.models.apps.marks import fill
from simcluster.models.apps.wording import describe
from simcluster.models.traffic.cluster.causes import DENIED, KINDS, UNCONNECTED, Cause
from simcluster.models.traffic.graph.skin import Client
from simcluster.models.userland.outcome import Outcome
from tests.transcripts import check

_HERE = Path(__file__).parent
_MOVED = (Renaming("v1", "spec.size", "v2", "spec.storage.size"), Renaming("v1", "status", "v2", "spec.was.status"))


class Call(NamedTuple):
    """As much of a call as wording reads."""

    client: str
    answer: str
    operation: str = "Convert"
    env: str = "CONVERTER"


def _clients() -> list[str]:
    found: list[str] = []
    for part in get_args(Client):
        found.extend(get_args(part) or [part])
    return found


def _said(client: str) -> str:
    lines = []
    for kind in KINDS:
        for text in ("EMFILE", "EADDRNOTAVAIL") if kind == UNCONNECTED else ("ERR no",) if kind == DENIED else ("",):
            path: Any = (Call("http", "unseen"), Call("http", "outer ({cause})"), Call(client, "inner: {cause}"))
            for host, address in (("cart", "10.96.0.7"), ("cart", ""), ("", "")):
                cause = Cause(kind, host, 7070, address, path, text)
                try:
                    lines.append(f"{kind} {text} {host}/{address}: {describe(cause)!r}\n")
                except KeyError as error:
                    lines.append(f"{kind} {text} {host}/{address}: no words for {error}\n")
    return "".join(lines)


def _converted(wanted: str, have: str) -> str:
    objects = [
        {"apiVersion": f"g/{have}", "kind": "X", "spec": {"size": 3, "storage": {"size": 4, "kind": "b"}}, "status": 1},
        {"apiVersion": f"g/{have}", "kind": "X", "spec": 5},
        {"apiVersion": f"g/{have}", "kind": "X", "spec": {"was": {"status": "old"}}},
    ]  # fmt: skip
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "u", "desiredAPIVersion": f"g/{wanted}", "objects": objects},
    }
    answer = converted(review, _MOVED, 77)
    return f"{answer.outcome} {answer.status} {answer.delay_ns}\n{json.dumps(json.loads(answer.body), indent=1)}\n"


def run(line: str) -> Outcome:
    what, *words = line.split(" ", 2)
    if what == "client":
        return Outcome(_said(words[0]))
    if what == "convert":
        return Outcome(_converted(*words))
    return Outcome(fill(" ".join(words), "<{}>".format) + "\n")


def test_whole_texts(request: pytest.FixtureRequest) -> None:
    check(request, _HERE / "wording.transcript", run, {})


def test_every_client_has_its_words() -> None:
    written = (_HERE / "wording.transcript").read_text()
    assert [client for client in _clients() if f"$ client {client}\n" not in written] == []
