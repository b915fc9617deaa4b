"""A log carries any text and any diagnosis, and names what is wrong with it."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.session import log, plainjson
from simcluster.session.log import Command, End

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["\u2028", "\u2029", "\x85", "\r", "\r\n", "a\nb", "\x0b\x0c", "\0", "\x1c\x1d\x1e", '"}\n{"kind": "end"', "\ufeff"]
)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=25,
)
COMMANDS = st.builds(
    Command, st.integers(0, 2**62), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, st.integers(-1, 255), TEXTS, TEXTS
)
END = End("done", 5, True, "abc")
#: The fixture's folder is used again and again: every example overwrites its file.
again = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types (1, 1.0 and True are equal to Python; so are 0.0 and -0.0)."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


@given(VALUES)
def test_plain_json_reads_back(value: Any) -> None:
    text = plainjson.dumps(value)
    assert "\n" not in text
    assert same(json.loads(text), value)
    text.encode()


@again
@given(st.lists(COMMANDS, max_size=5), VALUES)
def test_a_log_reads_back(tmp_path: Path, commands: list[Command], remark: Any) -> None:
    path = tmp_path / "a.jsonl"
    log.write(path, {"seed": 1, "remark": remark}, commands, END)
    found = log.read(path)
    assert same(found.header, {"seed": 1, "remark": remark})
    assert found[1:] == (commands, END, "")


@again
@given(st.lists(COMMANDS, min_size=1, max_size=3), st.data())
def test_a_log_that_was_cut_off_tells_up_to_there(tmp_path: Path, commands: list[Command], data: st.DataObject) -> None:
    path = tmp_path / "a.jsonl"
    log.write(path, {"seed": 1}, commands, END)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    kept = whole[: data.draw(st.integers(first, len(whole) - 1))]
    path.write_bytes(kept)
    found = log.read(path)
    lines = kept.count(b"\n")
    if kept.endswith(b"\n") or found.problem == "":
        assert not found.problem or found.end is None
    else:
        assert found.problem == f"{path}:{lines + 1}: the last line is cut off"
        assert found.end is None
    assert found.commands == commands[: len(found.commands)]
    assert len(found.commands) >= lines - 1


class Word(StrEnum):
    """A text that is more than one."""

    YES = "yes"


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


CYCLE: dict[str, Any] = {}
CYCLE["self"] = [CYCLE]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"a": "b\ud800"}, "the value.a holds a lone surrogate at character 1"),
        ({"\udc00": 1}, "a key of the value holds a lone surrogate"),
        (float("nan"), "the value is nan, which JSON does not know"),
        ([float("inf")], "the value[0] is inf"),
        ([-float("inf")], "the value[0] is -inf"),
        (OrderedDict(a=1), "of type OrderedDict, a subclass of dict"),
        (Word.YES, "of type Word, a subclass of str"),
        ({Word.YES: 1}, "a key of the value is of type Word, a subclass of str"),
        ({1: 2}, "a key of the value is of type int"),
        ({"a": (1, 2)}, "the value.a is of type tuple"),
        ({"a": {1}}, "of type set"),
        (b"x", "of type bytes"),
        (2**63, "an integer of more than 64 bits"),
        pytest.param(10**5000, "an integer of more than 64 bits", id="huge"),
        pytest.param(deep(plainjson.DEPTH_MAX + 1), "nested deeper than 100 levels", id="deep"),
        pytest.param(deep(10_000), "nested deeper than 100 levels", id="abyss"),
        pytest.param(CYCLE, "or contains itself", id="cycle"),
    ],
)
def test_what_json_cannot_carry_is_refused(value: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        plainjson.dumps(value)


def test_the_deepest_value_reads_back() -> None:
    assert json.loads(plainjson.dumps(deep(plainjson.DEPTH_MAX))) == deep(plainjson.DEPTH_MAX)


HEADER = '{"kind": "header", "seed": 0}\n'
COMMAND = json.dumps(Command(0, "wait", "", "1s", "", "", 0, "x").to_dict()) + "\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no header line"),
        ('{"kind": "head', "1: no JSON"),
        (HEADER + "{\n" + COMMAND, "2: no JSON"),
        (HEADER + "[]\n", "2: no JSON object"),
        (HEADER + '{"kind": "remark"}\n', "2: unknown kind of line 'remark'"),
        (HEADER + '{"kind": "command", "at_ns": 1}\n', "2: Command"),
        (HEADER + COMMAND.replace('"at_ns": 0', '"at_ns": "0"'), "2: at_ns is '0', not of type int"),
        (HEADER + COMMAND.replace('"stdin"', '"stdout"'), "2: Command"),
        (HEADER + '{"kind": "end", "digest": "x"}\n', "2: End"),
    ],
)
def test_a_broken_log_names_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(complaint)):
        log.read(path)


def test_separators_that_are_no_newline_separate_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = "a\u2028b\x85c\rd\x1ee"
    log.write(path, {"seed": 0}, [Command(0, "kubectl", "", text, text, "", 0, "x")], END)
    assert path.read_bytes().count(b"\n") == 3
    assert log.read(path).commands[0].text == text
