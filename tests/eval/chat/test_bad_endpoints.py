"""Endpoints that nobody could talk to, and models that flood: each has an answer, and the run ends graded."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from simcluster.eval.chat.agent import ANSWERED_MAX, SAID_MAX, ModelAgent
from simcluster.eval.chat.context import Message
from simcluster.eval.chat.endpoint import Endpoint, EndpointError, Reply
from simcluster.eval.chat.options import ModelOptions
from simcluster.eval.episode import Episode
from tests.kiosk import started

HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n%s\r\n"


@contextmanager
def saying(data: bytes, *, hold: bool = False) -> Iterator[str]:
    """A server that says so to every request, whatever it was; and, if it is to, holds the line."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as held:
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                client, _ = server.accept()
                with ExitStack() as now, suppress(OSError):
                    (held if hold else now).enter_context(client)
                    client.recv(1 << 16)
                    client.sendall(data)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        finally:
            over.set()
            socket.create_connection(server.getsockname()).close()
            thread.join()


def whole(body: bytes) -> bytes:
    return HEAD % (b"200 OK", b"Content-Length: %d\r\n" % len(body)) + body


def refused(status: bytes, *more: bytes) -> bytes:
    return HEAD % (status, b"".join(one + b"\r\n" for one in more))


@pytest.mark.parametrize(
    ("data", "hold", "kind"),
    [
        (refused(b"200 OK", b"Content-Length: 9"), True, "timeout"),
        (refused(b"429 Slow", b"Retry-After: 3600", b"Content-Length: 0"), False, "rate limit"),
        (refused(b"429 Slow", b"Retry-After: \xb2", b"Content-Length: 0"), False, "rate limit"),
        (refused(b"500 Oops", b"Content-Length: 100") + b"abc", True, "server error"),
        (refused(b"500 Oops", b"Transfer-Encoding: chunked") + b"zz\r\n", False, "server error"),
        (refused(b"302 Found", b"Location: file:///etc/passwd", b"Content-Length: 0"), False, "bad request"),
        (b"\x00\xff nothing of HTTP\r\n\r\n", False, "garbled"),
        (whole(b"data: {garbage}\n\n" * 50), False, "garbled"),
        (whole(b"[" * 100_000), False, "garbled"),
        (whole(b'{"error": {"message": "overloaded"}}'), False, "garbled"),
        (whole(b'{"choices": [{"message": null}]}'), False, "garbled"),
    ],
)  # fmt: skip
def test_no_answer_is_the_endpoints_and_has_a_name(data: bytes, hold: bool, kind: str) -> None:
    waits: list[float] = []
    began_s = time.monotonic()
    with saying(data, hold=hold) as url, pytest.raises(EndpointError) as failed:
        Endpoint("m", url, key="", tries=2, timeout_s=0.3, sleep=waits.append).chat([])
    assert failed.value.kind == kind
    assert sum(waits) <= 60.0
    assert time.monotonic() - began_s < 60


@pytest.mark.parametrize(
    "usage", ["null", "[1]", '{"prompt_tokens": null}', '{"prompt_tokens": Infinity}', '{"prompt_tokens": -5}']
)
def test_counts_that_are_none_count_as_none(usage: str) -> None:
    body = b'{"choices": [{"message": {"content": "hi"}}], "usage": %s}' % usage.encode()
    with saying(whole(body)) as url:
        assert Endpoint("m", url, key="", tries=1).chat([]) == Reply({"content": "hi"}, 0, 0)


class Spoken:
    """Replies one after the other, then the end."""

    def __init__(self, *messages: Message) -> None:
        self.left = list(messages)
        self.sizes: list[int] = []

    def chat(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()) -> Reply:
        self.sizes.append(len(json.dumps(list(messages))))
        return Reply(self.left.pop(0) if self.left else calls(("finish", {})), 1, 1)


def calls(*wanted: tuple[object, object]) -> Message:
    made = [
        {"id": f"c{n}", "function": {"name": name, "arguments": said if isinstance(said, str) else json.dumps(said)}}
        for n, (name, said) in enumerate(wanted)
    ]
    return {"content": None, "tool_calls": made}


@pytest.fixture(scope="module")
def paged() -> Episode:
    return started()


@pytest.mark.parametrize(
    "message",
    [
        calls(*[("kubectl", {"command": "version"})] * 10_000),
        {"content": None, "tool_calls": [{"id": "i" * 5_000_000, "function": {"name": "alerts"}}]},
        {"content": "x" * 5_000_000},
        {"content": None, "tool_calls": [None, 5, [], {"function": 5}, {"function": {"name": {"a": 1}}}]},
        calls(("diagnose", {"diagnosis": '{"a":' * 20_000}), ("kubectl", '{"command":' * 9_000), ("kubectl", "[]")),
        calls(("kubectl", {"command": "y" * 150_000}), ("wait", {"duration": "9" * 4_000 + "s"})),
    ],
)
def test_floods_are_answered_and_the_next_request_can_be_taken(paged: Episode, message: Message) -> None:
    spoken, noted = Spoken(message), []
    episode = paged.fork()
    ModelAgent(spoken, ModelOptions(), noted.append).run(episode)
    assert max(spoken.sizes) < 3 * SAID_MAX
    assert len(noted[1]["messages"]) <= ANSWERED_MAX
    assert not episode.diagnosed().passed


@pytest.mark.parametrize("text", ["{" * 200_000, '{"a":' * 50_000, '{"a":1,' * 20_000])
def test_nesting_without_an_end_is_no_call_and_takes_no_time(paged: Episode, text: str) -> None:
    spoken = Spoken({"content": text}, {"content": '{"tool": "finish"}'})
    began_s = time.process_time()
    ModelAgent(spoken, ModelOptions(tools=False), lambda line: None).run(paged.fork())
    assert (spoken.left, len(spoken.sizes)) == ([], 2)
    assert time.process_time() - began_s < 10
