"""The pod-template-hash that names a revision's ReplicaSet.

Source: kubernetes pkg/controller/controller_utils.go (ComputeHash) and
apimachinery util/rand (SafeEncodeString). The hash is FNV-32a over a canonical print of
the template; the real one prints Go structs, so equal templates hash to another value there.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import Json

#: No vowels and no look-alikes, so that no word can come out (util/rand alphanums).
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
#: The label that tells the pods of one ReplicaSet of a Deployment from those of another.
POD_TEMPLATE_HASH = "pod-template-hash"
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


@functools.lru_cache(maxsize=1024)
def fnv32a(data: bytes) -> int:
    """FNV-1a, 32 bits; kept, because a template is hashed in every cluster and at many looks.

    >>> hex(fnv32a(b"a"))
    '0xe40c292c'
    """
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value


def safe_encode(text: str) -> str:
    """Each character mapped into `ALPHABET`.

    >>> safe_encode("4029")
    '846f'
    """
    return "".join(ALPHABET[ord(character) % len(ALPHABET)] for character in text)


def template_hash(template: Mapping[str, Any], collision_count: int | None) -> str:
    """Hash of a pod template; `collisionCount` makes another one after a name clash."""
    printed = json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    if collision_count is not None:
        printed += collision_count.to_bytes(8, "little")
    return safe_encode(str(fnv32a(printed)))


def plain_template(template: Mapping[str, Any]) -> Json:
    """The template without its hash label and empty fields, for comparison."""
    plain = dict(template)
    metadata = {key: value for key, value in (plain.get("metadata") or {}).items() if value is not None}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != POD_TEMPLATE_HASH}
    plain["metadata"] = {**metadata, "labels": labels}
    return plain
