"""configMapGenerator and secretGenerator, and the hash that their names get.

Source: kustomize api/internal/generators, api/kv and api/hasher.
"""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from simcluster.api.objects import Json
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.kustomize.item import Item

_SAFE = str.maketrans("013ae", "ghkmt")
#: encodeBase64 breaks longer texts.
_LINE = 70


def generate(entry: Json, kind: str, options: Json, read: Callable[[str], str]) -> Item:
    """The object of one generator entry.

    Args:
        kind: ConfigMap or Secret.
        options: `generatorOptions` of the kustomization.
        read: gives a file's text. Raises KubectlError.
    """
    metadata: Json = {"name": entry.get("name", "")}
    if entry.get("namespace"):
        metadata["namespace"] = entry["namespace"]
    own = entry.get("options") or {}
    for field in ("labels", "annotations"):
        merged = {**(options.get(field) or {}), **(own.get(field) or {})}
        if merged:
            metadata[field] = merged
    obj: Json = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    pairs = _pairs(entry, read)
    if kind == "Secret":
        obj["type"] = entry.get("type") or "Opaque"
    if pairs:
        obj["data"] = {key: _base64(value) for key, value in pairs.items()} if kind == "Secret" else pairs
    if own.get("immutable", options.get("immutable")):
        obj["immutable"] = True
    plain_name = own.get("disableNameSuffixHash", options.get("disableNameSuffixHash"))
    behavior = str(entry.get("behavior") or "create")
    if behavior not in ("create", "merge", "replace"):
        behavior = "create"
    return Item(obj, hashed=not plain_name, behavior=behavior)


def _pairs(entry: Json, read: Callable[[str], str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    envs = [*(entry.get("envs") or ()), *([entry["env"]] if entry.get("env") else ())]
    for path in envs:
        for line in read(str(path)).splitlines():
            _add_line(pairs, line)
    for source in entry.get("files") or ():
        key, equals, path = str(source).partition("=")
        if equals and (not key or not path):
            raise plain(f"missing {'key' if not key else 'file path'} name for file path '{path or key}' in source")
        _add(pairs, key if equals else posixpath.basename(key), read(path if equals else key))
    for source in entry.get("literals") or ():
        key, equals, value = str(source).partition("=")
        if not equals or not key:
            raise plain(f"literal values: invalid literal source {source}, expected key=value")
        _add(pairs, key, value.strip("\"'"))
    return pairs


def _add_line(pairs: dict[str, str], line: str) -> None:
    text = line.lstrip()
    if text and not text.startswith("#"):
        key, _, value = text.partition("=")
        _add(pairs, key, value)


def _add(pairs: dict[str, str], key: str, value: str) -> None:
    if key in pairs:
        raise plain(f"configmap illegally repeats the key `{key}`")
    pairs[key] = value


def _base64(value: str) -> str:
    text = base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()
    if len(text) < _LINE:
        return text
    return "".join(text[start : start + _LINE] + "\n" for start in range(0, len(text), _LINE))


def merged(before: Item, new: Item) -> None:
    """Change a base's object by an overlay's generator that merges or replaces."""
    target, source = before.obj, new.obj
    for field in ("labels", "annotations"):
        both = {**(target["metadata"].get(field) or {}), **(source["metadata"].get(field) or {})}
        if both:
            target["metadata"][field] = both
    if new.behavior == "replace":
        target["data"] = source.get("data") or {}
    else:
        target["data"] = {**(target.get("data") or {}), **(source.get("data") or {})}
    before.hashed = before.hashed or new.hashed


def content_hash(obj: Mapping[str, Any]) -> str:
    """The ten characters that follow a generated object's name.

    >>> content_hash({"kind": "ConfigMap", "data": {"application.properties": "FOO=Bar\\n"}})
    'g4hk9g2ff8'
    """
    # The name takes part as empty text: the real one looks it up under a key that does not exist.
    known: Json = {"kind": obj["kind"], "name": "", "data": obj.get("data", "")}
    if obj["kind"] == "Secret":
        known["type"] = obj.get("type", "")
    extra = "stringData" if obj["kind"] == "Secret" else "binaryData"
    if isinstance(obj.get(extra), Mapping):
        known[extra] = obj[extra]
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":  # as Go escapes them
        text = text.replace(char, f"\\u{ord(char):04x}")
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(_SAFE)


def unknown_target(item: Item) -> KubectlError:
    """An overlay merges into something that the base has not."""
    return plain(f"merging from generator {item.name}: id matches 0 resources")
