"""`-f`: manifests from files, folders and standard input.

Files come from the mapping the caller gave, never from the disk of the machine: what an
agent runs must not read the simulator's own files. Left out: URLs.
"""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from simcluster.api.objects import Json
from simcluster.api.schema import YamlSyntaxError, decode_yaml
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.invocation import Invocation

_SUFFIXES = (".json", ".yaml", ".yml")


class Manifest(NamedTuple):
    """One document and the file it stands in."""

    source: str
    obj: Json


class Loaded(NamedTuple):
    """Manifests, and the errors of the files that could not be read."""

    manifests: list[Manifest]
    errors: list[KubectlError]


def load(invocation: Invocation, paths: list[str], *, recursive: bool = False) -> Loaded:
    """The manifests of `-f` arguments in order, lists taken apart.

    Raises:
        KubectlError: a path does not exist.
    """
    found, errors = [], []
    for source, text in _texts(invocation, paths, recursive):
        for chunk in _chunks(text):
            try:
                found.extend(_documents(source, chunk))
            except KubectlError as error:
                errors.append(error)
                if isinstance(error, _Unreadable):
                    break  # the reader stops where it cannot parse; what came before is taken
    return Loaded(found, errors)


class _Unreadable(KubectlError):
    """A text that is no YAML."""


def _chunks(text: str) -> list[str]:
    """A stream's documents as texts, each with line numbers of its own (apimachinery's YAMLReader)."""
    if text.lstrip().startswith("{"):
        return [text]
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


def _documents(source: str, text: str) -> list[Manifest]:
    try:
        documents, _ = decode_yaml(text)
    except YamlSyntaxError as error:
        raise _Unreadable(f"error: error parsing {source}: error converting YAML to JSON: {error}") from None
    found = []
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict):
            raise plain(
                f'error validating "{source}": error validating data: invalid object to validate; '
                "if you choose to ignore these errors, turn validation off with --validate=false"
            )
        if not document:
            continue
        _require(source, document)
        if str(document["kind"]).endswith("List") and isinstance(document.get("items"), list):
            for item in document["items"]:
                _require(source, item)
                found.append(Manifest(source, item))
        else:
            found.append(Manifest(source, document))
    return found


def _require(source: str, document: Json) -> None:
    missing = [f"{key} not set" for key in ("apiVersion", "kind") if not document.get(key)]
    if missing:
        listed = missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]"
        raise plain(
            f'error validating "{source}": error validating data: {listed}; '
            "if you choose to ignore these errors, turn validation off with --validate=false"
        )
