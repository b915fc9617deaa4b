"""Answers to ConversionReviews: custom resources under another version, some fields moved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.models.machine.process import Answer

Json = dict[str, Any]


class Renaming(NamedTuple):
    """A field that is at one path in one version and at another path in another version."""

    version: str
    path: str
    other_version: str
    other_path: str


def converted(review: Mapping[str, Any], renamings: Sequence[Renaming], delay_ns: int = 0) -> Answer:
    """The answer to a ConversionReview: the objects under the desired version, some fields moved."""
    request = review["request"]
    wanted = request["desiredAPIVersion"]
    made = []
    for obj in request["objects"]:
        result: Json = json.loads(json.dumps(obj))
        have, want = obj["apiVersion"].rpartition("/")[2], wanted.rpartition("/")[2]
        for one in renamings:
            if (one.version, one.other_version) == (have, want):
                _move(result, one.path, one.other_path)
            elif (one.other_version, one.version) == (have, want):
                _move(result, one.other_path, one.path)
        made.append({**result, "apiVersion": wanted})
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": made}
    body = {"kind": "ConversionReview", "apiVersion": review["apiVersion"], "response": response}
    return Answer("ok", 200, json.dumps(body), delay_ns)


def _move(obj: Json, path: str, target: str) -> None:
    *names, last = path.split(".")
    holder: Any = obj
    for name in names:
        holder = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or last not in holder:
        return
    value = holder.pop(last)
    *names, last = target.split(".")
    for name in names:
        obj = obj.setdefault(name, {})
    obj[last] = value
