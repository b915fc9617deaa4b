"""Messages over a socket: whole ones arrive as they were sent, all else is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.eval.isolation import wire
from simcluster.eval.isolation.wire import Garbled, Wire

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=5,
)


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Wire(ours), theirs


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=3), st.integers(1, 50))
def test_messages_arrive_in_any_pieces(messages: list[dict[str, Any]], size: int) -> None:
    ours, theirs = socket.socketpair()
    copied, copy = socket.socketpair()
    with ours, theirs, copied, copy:
        sender, receiver, found = Wire(theirs), Wire(copied), []
        for message in messages:
            sender.send(message)
        theirs.shutdown(socket.SHUT_WR)
        while piece := ours.recv(size):
            copy.sendall(piece)
            receiver.feed()
            while (message_found := receiver.take()) is not None:
                found.append(message_found)
        assert found == messages


def test_texts_arrive_that_no_file_could_hold(ends: tuple[Wire, socket.socket]) -> None:
    message = {"text": "\ud800 \u2028 \0"}
    Wire(ends[1]).send(message)
    assert ends[0].receive() == message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xff\xff\xff", "announces 4294967295 bytes"),
        (b"\0\0\0\x02{]", "JSONDecodeError"),
        (b"\0\0\0\x02[]", "a list"),
        (b"\0\0\0\x01\xff", "UnicodeDecodeError"),
        (b"\0\x01\0\0" + b"[" * 65536, "RecursionError"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, said: str, ends: tuple[Wire, socket.socket]) -> None:
    ends[1].sendall(data)
    with pytest.raises(Garbled, match=said):
        ends[0].receive()


def test_the_end_is_reported(ends: tuple[Wire, socket.socket]) -> None:
    ends[1].sendall(b"\0\0\0\x09{")
    ends[1].close()
    with pytest.raises(EOFError):
        ends[0].receive()


def test_what_cannot_be_sent_is_refused_before_anything_is(
    ends: tuple[Wire, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MESSAGE_MAX", 100)
    for message, error in (({"a": "x" * 100}, ValueError), ({"a": {1, 2}}, TypeError)):
        with pytest.raises(error):
            ends[0].send(message)
    ends[0].send({"a": 1})
    assert Wire(ends[1]).receive() == {"a": 1}
