"""Completion indexes of Indexed Jobs: on pods, and as the text in the status.

Source: kubernetes pkg/controller/job/indexed_job_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.objects import Json

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
_ENVIRONMENT = "JOB_COMPLETION_INDEX"
#: A generated name has room for so many characters before its suffix.
_MAX_PREFIX = 58


def is_indexed(job: Mapping[str, Any]) -> bool:
    """Whether `spec.completionMode` is Indexed."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(pod: Mapping[str, Any]) -> int:
    """The pod's completion index, -1 if it has none."""
    text = (pod["metadata"].get("annotations") or {}).get(COMPLETION_INDEX, "")
    return int(text) if text.isdecimal() else -1


def is_valid(index: int, job: Mapping[str, Any]) -> bool:
    """Whether the index is one of the Job's."""
    return 0 <= index < int(job["spec"].get("completions") or 0)


def parse(text: str, completions: int) -> dict[int, None]:
    """The indexes of `status.completedIndexes` below `completions`, in order.

    >>> list(parse("0-2,5,9", 8))
    [0, 1, 2, 5]
    """
    found: dict[int, None] = {}
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        for index in range(int(first), int(last or first) + 1):
            if index < completions:
                found[index] = None
    return found


def to_text(indexes: Iterable[int]) -> str:
    """Indexes as the status shows them; from three in a row on they are an interval.

    >>> to_text([5, 0, 1, 2, 7, 8])
    '0-2,5,7,8'
    """
    intervals: list[list[int]] = []
    for index in sorted(indexes):
        if intervals and index == intervals[-1][1] + 1:
            intervals[-1][1] = index
        else:
            intervals.append([index, index])
    parts = []
    for first, last in intervals:
        separator = "," if last == first + 1 else "-"
        parts.append(str(first) if first == last else f"{first}{separator}{last}")
    return ",".join(parts)


def pending(taken: Mapping[int, None], count: int, completions: int) -> list[int]:
    """The first `count` indexes that nobody has taken (firstPendingIndexes)."""
    found: list[int] = []
    for index in range(completions):
        if len(found) == count:
            break
        if index not in taken:
            found.append(index)
    return found


def surplus(pods: Iterable[Mapping[str, Any]], job: Mapping[str, Any]) -> list[Any]:
    """Active pods with an index that is invalid or that an earlier pod has."""
    seen: dict[int, None] = {}
    found: list[Any] = []
    for pod in pods:
        index = index_of(pod)
        if index in seen or not is_valid(index, job):
            found.append(pod)
        seen[index] = None
    return found


def with_index(pod: Json, job_name: str, index: int) -> Json:
    """Make a pod to be created the pod of an index. Changes `pod`."""
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["generateName"] = f"{job_name}-{index}-"
    if len(metadata["generateName"]) > _MAX_PREFIX:
        tail = f"-{index}-"
        metadata["generateName"] = job_name[: _MAX_PREFIX - len(tail)] + tail
    metadata["annotations"] = {**(metadata.get("annotations") or {}), COMPLETION_INDEX: str(index)}
    metadata["labels"] = {**(metadata.get("labels") or {}), COMPLETION_INDEX: str(index)}
    spec["hostname"] = f"{job_name}-{index}"
    for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
        environment = container.setdefault("env", [])
        if not any(entry["name"] == _ENVIRONMENT for entry in environment):
            path = f"metadata.labels['{COMPLETION_INDEX}']"
            source = {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
            environment.append({"name": _ENVIRONMENT, "valueFrom": source})
    return pod
