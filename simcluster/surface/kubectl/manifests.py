"""`-f`: manifests from files, folders and standard input.

Files come from the mapping the caller gave, never from the disk of the machine: what an
agent runs must not read the simulator's own files. Left out: URLs.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from simcluster.api.objects import Json
from simcluster.api.schema import YamlSyntaxError, decode_yaml
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import Arguments
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.jsontext import compact_json

#: Commands that look at a manifest's head before they decode it.
_VALIDATING = ("apply", "create", "replace")
_SUFFIXES = (".json", ".yaml", ".yml")


class Manifest(NamedTuple):
    """One document and the file it stands in."""

    source: str
    obj: Json


def load(invocation: Invocation, arguments: Arguments) -> Iterator[Manifest | KubectlError]:
    """The manifests of `-f` in order, lists taken apart, and the errors of what could not be read.

    Raises:
        KubectlError: a path does not exist.
    """
    ignored = arguments.text_or("validate", "ignore") in ("ignore", "false")
    validated = not ignored and arguments.path in _VALIDATING
    for source, text in _texts(invocation, arguments.texts("filename"), arguments.on("recursive")):
        try:
            if text.lstrip().startswith("{"):
                for value in _json_values(source, text):
                    yield from _documents(source, [value], validated=validated)
                continue
        except KubectlError as error:
            yield error
            continue
        for chunk in _chunks(text):
            try:
                yield from _documents(source, _decoded(source, chunk), validated=validated)
            except _UnreadableError as error:
                yield error
                break  # the reader stops where it cannot parse; what came before is taken
            except KubectlError as error:
                yield error


class _UnreadableError(KubectlError):
    """A text that is no YAML."""


#: What Go's decoder says where Python's says this.
_GO_PROBLEMS = {
    "Expecting property name": "looking for beginning of object key string",
    "Illegal trailing comma": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Expecting value": "looking for beginning of value",
}
_SPACE = re.compile(r"[ \t\r\n]*")


def _json_values(source: str, text: str) -> Iterator[Any]:
    """The values of a JSON stream. Raises KubectlError with the text of Go's decoder."""
    decoder = json.JSONDecoder(parse_float=_number, parse_constant=_refuse_constant)
    position = _end_of_space(text, 0)
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise plain(f"error parsing {source}: {_go_problem(text, error)}") from None
        except (ValueError, RecursionError):
            raise plain(f"error parsing {source}: json: unsupported value") from None
        yield value
        position = _end_of_space(text, position)


def _end_of_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _number(text: str) -> float | int:
    """A number with a fraction or an exponent; JSON knows one kind, so that 1.0 is 1."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


def _refuse_constant(text: str) -> None:
    raise ValueError(text)


def _go_problem(text: str, error: json.JSONDecodeError) -> str:
    position = _end_of_space(text, error.pos + error.msg.startswith("Illegal"))
    if position >= len(text) or error.msg.startswith("Unterminated"):
        return "unexpected EOF"
    where = next((go for python, go in _GO_PROBLEMS.items() if error.msg.startswith(python)), "in string literal")
    if text[position] == "-":
        position, where = min(position + 1, len(text) - 1), "in numeric literal"
    elif where.endswith("pair") and text.rfind("[", 0, position) > text.rfind("{", 0, position):
        where = "after array element"
    return f"json: offset {len(text[:position].encode()) + 1}: invalid character '{text[position]}' {where}"


def _chunks(text: str) -> list[str]:
    """A stream's documents as texts, each with line numbers of its own (apimachinery's YAMLReader)."""
    chunks: list[str] = []
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        rest = line[3:].strip()
        if line.startswith("---") and (not rest or rest.startswith("#")) and lines:
            chunks.append("".join(lines))
            lines = []
        else:
            lines.append(line)
    return [*chunks, "".join(lines)]


def read(invocation: Invocation, path: str) -> str:
    """A file's text; `-` is standard input. Raises KubectlError."""
    if path == "-":
        return invocation.stdin
    text = _lookup(invocation, path)
    if text is None:
        raise plain(f"open {path}: no such file or directory")
    return text


def _lookup(invocation: Invocation, path: str) -> str | None:
    for name in (path, posixpath.normpath(path)):
        try:
            return invocation.files[name]
        except KeyError:
            continue
    return None


def _texts(invocation: Invocation, paths: list[str], recursive: bool) -> list[tuple[str, str]]:
    texts = []
    for path in paths:
        if path == "-":
            texts.append(("STDIN", invocation.stdin))
            continue
        text = _lookup(invocation, path)
        if text is not None:
            texts.append((path, text))
            continue
        inside = _folder(invocation, path, recursive)
        if inside is None and path.startswith(("http://", "https://")):
            host = path.partition("://")[2].partition("/")[0].partition(":")[0]
            why = f"dial tcp: lookup {host} on 127.0.0.53:53: no such host"
            raise KubectlError(f"Unable to connect to the server: {why}")
        if inside is None:
            raise plain(f'the path "{path}" does not exist')
        if not inside:
            raise plain(f"error reading [{path}]: recognized file extensions are [.json .yaml .yml]")
        texts.extend((name, invocation.files[name]) for name in inside)
    return texts


def _folder(invocation: Invocation, path: str, recursive: bool) -> list[str] | None:
    """Manifest files in a folder; None if there is no such folder."""
    prefix = posixpath.normpath(path)
    prefix = "" if prefix == "." else prefix + "/"
    inside = [name for name in sorted(invocation.files) if name.startswith(prefix)]
    if not inside:
        return None
    return [name for name in inside if name.endswith(_SUFFIXES) and (recursive or "/" not in name[len(prefix) :])]


def _decoded(source: str, text: str) -> list[Any]:
    try:
        return decode_yaml(text)[0]
    except YamlSyntaxError as error:
        raise _UnreadableError(f"error: error parsing {source}: error converting YAML to JSON: {error}") from None


def _documents(source: str, documents: list[Any], *, validated: bool) -> list[Manifest]:
    found = []
    for document in documents:
        if document is None or document == {}:
            continue
        _require(source, document, validated)
        kind = str(document["kind"])
        if kind.endswith("List") and isinstance(document.get("items"), list):
            # Items of a list of one kind need not say what they are.
            own = {"apiVersion": document["apiVersion"], "kind": kind[:-4]} if kind != "List" else {}
            for item in document["items"]:
                whole = {**own, **item} if isinstance(item, dict) else item
                _require(source, whole, validated)
                found.append(Manifest(source, whole))
        else:
            found.append(Manifest(source, document))
    return found


def _require(source: str, document: Any, validated: bool) -> None:
    """Refuse what is no object, or does not say what it is, in the words of validation or else of the decoder."""
    if not isinstance(document, dict):
        kind = {str: "string", list: "array", bool: "bool"}.get(type(document), "number")
        problem = "invalid object to validate"
        undecoded = f"json: cannot unmarshal {kind} into Go value of type unstructured.detector"
    else:
        missing = [f"{key} not set" for key in ("apiVersion", "kind") if not document.get(key)]
        problem = missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]" if missing else ""
        undecoded = f"Object 'Kind' is missing in '{compact_json(document)}'" if not document.get("kind") else ""
    if problem and validated:
        raise plain(
            f'error validating "{source}": error validating data: {problem}; '
            "if you choose to ignore these errors, turn validation off with --validate=false"
        )
    if undecoded:
        raise plain(f'unable to decode "{source}": {undecoded}')
    document.setdefault("apiVersion", "")
