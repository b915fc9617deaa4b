"""Two things a registry strategy fills in that depend on more than the object's own fields.

Source: pkg/registry/batch/job/strategy.go (generateSelector), pkg/registry/apps/daemonset/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def generate_job_selector(job: Json, uid: str) -> None:
    """A new Job's selector and labels, from its uid; not with `manualSelector`. Changes `job`."""
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    name = job["metadata"].get("name", "")
    metadata = spec["template"].setdefault("metadata", {})
    labels = metadata.get("labels")
    if labels is None:
        labels = metadata["labels"] = {}
    for prefix in ("", "batch.kubernetes.io/"):
        if not labels.get(prefix + "controller-uid"):
            labels[prefix + "controller-uid"] = uid
        if not labels.get(prefix + "job-name"):
            labels[prefix + "job-name"] = name
    if not spec.get("selector"):
        spec["selector"] = {"matchLabels": {}}
    spec["selector"].setdefault("matchLabels", {}).setdefault("batch.kubernetes.io/controller-uid", uid)
    if not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


def count_template_generation(daemonset: Json, old: Mapping[str, Any] | None) -> None:
    """A DaemonSet's annotation that counts changes of its template. Changes `daemonset`."""
    generation = 1
    if old is not None:
        generation = int((old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "1"))
        if daemonset["spec"].get("template") != old["spec"].get("template"):
            generation += 1
    annotations = daemonset["metadata"].get("annotations")
    if annotations is None:
        annotations = daemonset["metadata"]["annotations"] = {}
    annotations[_TEMPLATE_GENERATION] = str(generation)
