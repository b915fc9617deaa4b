"""Bodies that a real kubectl 1.32.4 sent, each beside what the same command printed with `--dry-run=client -o json`."""

from __future__ import annotations

import contextlib
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcluster.api.encoding import protobuf

SENT = json.loads(Path(__file__).with_name("kubectl-1.32-messages.json").read_text())


def without_empty(value: Any) -> Any:
    """Go prints structs that hold nothing; a server that reads JSON does not miss them."""
    if isinstance(value, dict):
        return {key: kept for key, item in value.items() if (kept := without_empty(item)) != {}}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("command", SENT)
def test_what_kubectl_sends_is_the_object_that_it_prints(command: str) -> None:
    message, printed = SENT[command]
    assert without_empty(protobuf.decode(b64decode(message))) == without_empty(printed)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(SENT)), st.integers(0, 400), st.binary(max_size=4))
def test_a_spoiled_message_is_refused_or_read_and_nothing_else(command: str, at: int, bytes_: bytes) -> None:
    message = b64decode(SENT[command][0])
    spoiled = message[:at] + bytes_ + message[at + len(bytes_) :]
    with contextlib.suppress(ValueError):
        assert isinstance(protobuf.decode(spoiled), dict)


def test_a_body_without_the_magic_is_no_message() -> None:
    with pytest.raises(ValueError, match=r"expected prefix \[107 56 115 0\]"):
        protobuf.decode(b"{}")
