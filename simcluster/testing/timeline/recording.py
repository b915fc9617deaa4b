"""A timeline folder: manifests, and what a watch of the cluster saw, one JSON line a change.

Lines of operations carry `mark`; all others `w` (pod, event, node, deploy, eps, or another
kind), `type` and the part of the object that questions of time need. `t` is in seconds since
the first Deployment, or what stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from simcluster.engine import MILLISECOND, SECOND

Line = dict[str, Any]
Document = dict[str, Any]

#: Kinds that are there before the clock starts, when no Deployment says where it does.
_GROUND = (
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
)
_HOSTNAME = "kubernetes.io/hostname"
#: Of the time in an Event's name, from 2006 on.
_STAMP_DIGITS, _HEXADECIMAL = 16, frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Recording:
    """What a timeline folder holds.

    Attributes:
        folder: where it lies; operations may name further files there.
        documents: the manifests in the order of their creation.
        lines: the recorded changes without the marks.
        operations: (nanoseconds since the start, words of the mark), without the last, `end`.
        end_ns: when the recording ends.
    """

    folder: Path
    documents: tuple[Document, ...]
    lines: tuple[Line, ...]
    operations: tuple[tuple[int, tuple[str, ...]], ...]
    end_ns: int

    @property
    def first(self) -> int:
        """The index of the document whose creation is t = 0."""
        kinds = [document["kind"] for document in self.documents]
        if "Deployment" in kinds:
            return kinds.index("Deployment")
        return next((index for index, kind in enumerate(kinds) if kind not in _GROUND), len(kinds))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of the documents; that of the first one is where operations without one act."""
        found = {str(namespace) for d in self.documents if (namespace := d["metadata"].get("namespace"))}
        made = {str(d["metadata"]["name"]) for d in self.documents if d["kind"] == "Namespace"}
        acted = {words[words.index("-n") + 1] for _, words in self.operations if "-n" in words[:-1]}
        begin = [str(d["metadata"].get("namespace", "")) for d in self.documents[self.first :]][:1]
        rest = sorted(found | made | acted or {"default"})
        return tuple(dict.fromkeys([*filter(None, begin), *rest]))

    @property
    def nodes(self) -> dict[str, bool]:
        """The names of the nodes that lines and manifests speak of, and whether each is of the control plane."""
        found = dict.fromkeys(_hostnames(list(self.documents)), False)
        for line in self.lines:
            if line["w"] == "node":
                tainted = any("control-plane" in taint for taint in line.get("taints") or ())
                found[line["name"]] = found.get(line["name"], False) or tainted or "control-plane" in line["name"]
            elif line["w"] == "pod" and line.get("node"):
                found.setdefault(line["node"], False)
        return dict(sorted(found.items()))

    @property
    def began_unix_ns(self) -> int | None:
        """What the wall clock showed at t = 0, to some milliseconds: names of Events carry its nanoseconds."""
        found = []
        for line in self.lines:
            if line["w"] == "event" and line["type"] == "ADDED":
                stamp = line["name"].rpartition(".")[2]
                if len(stamp) == _STAMP_DIGITS and set(stamp) <= _HEXADECIMAL:
                    found.append(int(stamp, 16) - round(line["t"] * SECOND))
        return max(found, default=None)

    @property
    def watched(self) -> tuple[str, ...]:
        """What was watched, as its lines say."""
        return tuple(dict.fromkeys(line["w"] for line in self.lines))


def read_recording(folder: Path, name: str = "") -> Recording:
    """The recording in `folder`: its `manifests.yaml` (or all its manifests) and the first `*.jsonl`, or `name`.

    Raises:
        ValueError: the folder holds no recording, or one without its end.
    """
    files = sorted(folder.glob(name or "*.jsonl"))
    if not files:
        raise ValueError(f"{folder} holds no recording")
    lines = [json.loads(text) for text in files[0].read_text().splitlines() if text.strip()]
    marks = [(round(line["t"] * 1000) * MILLISECOND, tuple(line["mark"].split())) for line in lines if "mark" in line]
    if not marks or marks[-1][1] != ("end",):
        raise ValueError(f"{files[0]} does not end with the mark 'end'")
    return Recording(
        folder,
        tuple(_documents(folder)),
        tuple(line for line in lines if "mark" not in line),
        tuple(marks[:-1]),
        marks[-1][0],
    )


def _documents(folder: Path) -> Iterator[Document]:
    main = folder / "manifests.yaml"
    paths = [main] if main.is_file() else sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    for path in paths:
        for document in yaml.safe_load_all(path.read_text()):
            if document:
                yield from document["items"] if document.get("kind") == "List" else (document,)


def _hostnames(part: Any) -> Iterator[str]:
    """Every node that a manifest names by its host name label or by `nodeName`."""
    if isinstance(part, list):
        for entry in part:
            yield from _hostnames(entry)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in (_HOSTNAME, "nodeName") and isinstance(value, str):
                yield value
            yield from _hostnames(value)
        if part.get("key") == _HOSTNAME and part.get("operator") == "In":
            yield from part["values"]
