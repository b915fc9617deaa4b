"""Writes `protobuf-1.32.txt`: the field numbers of Kubernetes' messages, out of a kubectl of that version.

A Go program that speaks protobuf holds the descriptors of its messages, gzipped; they are found by their first bytes.
Run as `python -m simcluster.api.schema.compile_protobuf /usr/bin/kubectl`. One type a line: `field=number`, and
`+TYPE=number` for a message whose fields stand in the JSON object itself. Kinds of fields are those of the schema.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from simcluster.api.encoding.protobuf import NUMBERS, entries
from simcluster.api.schema.types import load

_GZIP = b"\x1f\x8b\x08"
#: The largest descriptor file has some hundred kilobytes; what follows it in the program is not read.
_LONGEST = 2_000_000
_PACKAGES = (("k8s.io.apimachinery.pkg.apis.", ""), ("k8s.io.api.", ""), ("k8s.io.metrics.pkg.apis.", ""))
# Field numbers of google/protobuf/descriptor.proto.
_FILE_PACKAGE, _FILE_MESSAGE, _MESSAGE_NAME, _MESSAGE_FIELD = 2, 4, 1, 2
_FIELD_NAME, _FIELD_NUMBER, _FIELD_TYPE_NAME = 1, 3, 6


class _Message(NamedTuple):
    name: str
    fields: list[tuple[str, int, str]]  # name, number, type


def descriptors(program: bytes) -> Iterator[_Message]:
    """Every message of the descriptor files in a Go program."""
    at = program.find(_GZIP)
    while at >= 0:
        try:
            text = zlib.decompressobj(31).decompress(program[at : at + _LONGEST])
            found = list(entries(text))
            package = next((value.decode() for number, value in found if number == _FILE_PACKAGE), "")
        except (zlib.error, ValueError, AttributeError):  # three bytes like a beginning, or another file
            found, package = [], ""
        if package.startswith("k8s.io."):
            for number, value in found:
                if number == _FILE_MESSAGE:
                    yield _message(package, value)
        at = program.find(_GZIP, at + 1)


def _message(package: str, text: bytes) -> _Message:
    name, fields = "", []
    for number, value in entries(text):
        if number == _MESSAGE_NAME:
            name = value.decode()
        elif number == _MESSAGE_FIELD:
            known = dict(entries(value))
            typed = known.get(_FIELD_TYPE_NAME, b"").decode().lstrip(".")
            fields.append((known[_FIELD_NAME].decode(), known[_FIELD_NUMBER], _short(typed)))
    return _Message(_short(f"{package}.{name}"), fields)


def _short(name: str) -> str:
    for prefix, short in _PACKAGES:
        if name.startswith(prefix):
            return short + name.removeprefix(prefix)
    return name


def compiled(program: bytes) -> str:
    """The table's text."""
    types = load().types
    messages = {message.name: message for message in descriptors(program)}
    wanted = [name for name in messages if name in types]
    lines = {}
    while wanted:
        name = wanted.pop()
        known = {field.lower(): field for field in types[name].fields} if name in types else None  # `aPIGroup`, `uID`
        words = []
        for field, number, typed in messages[name].fields:
            if known is None or field.lower() in known:
                words.append(f"{field if known is None else known[field.lower()]}={number}")
            elif typed in messages:  # embedded in the struct: its fields are the object's own
                words.append(f"+{typed}={number}")
                if typed not in lines and typed not in wanted:
                    wanted.append(typed)
        lines[name] = " ".join([name, *words])
    return "".join(f"{lines[name]}\n" for name in sorted(lines))


if __name__ == "__main__":
    NUMBERS.write_text(compiled(Path(sys.argv[1]).read_bytes()), encoding="utf-8")
