"""A timeline folder: manifests, and what a watch of the cluster saw, one JSON line a change.

Lines of operations carry `mark`; all others `w` (pod, event, node, deploy, eps), `type` and the
part of the object that questions of time need. `t` is in seconds since the first Deployment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcluster.engine import MILLISECOND

Line = dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """What a timeline folder holds.

    Attributes:
        documents: the manifests, split into YAML documents, in the order of their creation.
        lines: the recorded changes without the marks.
        operations: (nanoseconds since the start, words of the mark), without the last, `end`.
        end_ns: when the recording ends.
    """

    documents: tuple[str, ...]
    lines: tuple[Line, ...]
    operations: tuple[tuple[int, tuple[str, ...]], ...]
    end_ns: int


def read_recording(folder: Path, name: str = "") -> Recording:
    """The recording in `folder`: its `manifests.yaml` and the first `*.jsonl`, or `name`.

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
    parts = (folder / "manifests.yaml").read_text().split("\n---\n")
    return Recording(
        tuple(part for part in parts if part.strip()),
        tuple(line for line in lines if "mark" not in line),
        tuple(marks[:-1]),
        marks[-1][0],
    )
