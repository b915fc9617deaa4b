"""What a diagnosis of an incident has to look at: derived from the facts that the incident changed.

An operator begins at the page or at the Events, and ends at every place that holds a changed fact: two paths, as good
as each other. What proves a fact may be read in several ways; each of them counts as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simcluster.eval.process.steps import plural_of
from simcluster.faults.facts import IMAGE, LOAD, ChangedFact, Place
from simcluster.tasks.model import Task

_TEMPLATED = ("deployments", "statefulsets", "daemonsets")


def guide(task: Task, facts: Sequence[ChangedFact], alert: str, inventory: Sequence[str]) -> dict[str, Any]:
    """What the measures need of an incident besides the transcript.

    Args:
        task: with resolved targets.
        facts: what its incident changed.
        alert: the page.
        inventory: `Kind/name` of the application's components.

    Returns:
        `paths`: two lists of stations, each the tokens any of which is this look; `evidence`: for each changed place
        the tokens that show it; `causes`: what a right write may be aimed at; `lures`: components that hasty operators
        blame, as the task's wrong diagnoses do.
    """
    places = list(dict.fromkeys(fact.place for fact in facts))
    evidence = [_evidence(place, task) for place in places]
    evidence += [_of_object(*weak.component.split("/", 1)) for weak in task.sustained_by]
    first = "nodes" if "NodeNotReady" in alert else "pods"
    return {
        "paths": [[[f"list::{first}", f"show::{first}::*"], *evidence], [["list::events"], *evidence]],
        "evidence": evidence,
        "causes": _causes(places, task),
        "lures": _lures(task, inventory),
    }


def _evidence(place: Place, task: Task) -> list[str]:
    """Tokens that show a place, the plainest first."""
    if place.kind == LOAD:
        return [f"logs::{place.name}", "metrics::", "traces::"]
    if place.kind == IMAGE:
        name = task.truth.ref.name
        return [f"logs::{name}", f"show::deployments::{name}", f"show::pods::{name}", "top::pods", "metrics::"]
    if place.part:
        return [f"node::{place.name}"]
    return _of_object(place.kind, place.name)


def _of_object(kind: str, name: str) -> list[str]:
    resource = plural_of(kind)
    found = [f"show::{resource}::{name}", f"show::{resource}::*"]
    if resource in _TEMPLATED:
        found += [f"show::pods::{name}", "show::pods::*", f"exec::{name}"]
    return found


def _causes(places: Sequence[Place], task: Task) -> list[str]:
    """`resource/name` of what is wrong, with the pods of workloads; nodes are called `node/NAME` on their shells."""
    named = [(plural_of(one.kind), one.name) for one in places if one.kind not in (IMAGE, LOAD)]
    named += [(plural_of(kind), name) for kind, _, name in (one.partition("/") for one in _components(task))]
    found: dict[str, None] = {}
    for resource, name in named:
        found[f"{resource}/{name}"] = None
        if resource in _TEMPLATED:
            found |= dict.fromkeys((f"pods/{name}", f"replicasets/{name}"))
        if resource == "nodes":
            found[f"node/{name}"] = None
    return list(found)


def _components(task: Task) -> list[str]:
    return [task.truth.component, *(weak.component for weak in task.sustained_by)]


def _lures(task: Task, inventory: Sequence[str]) -> list[str]:
    """Components that the plausible wrong diagnoses name, and the truth does not."""
    true = (task.truth.ref.name, *task.truth.scope)
    texts = [str(one) for one in task.reference_diagnoses.plausible_but_wrong]
    found: dict[str, None] = {}
    for kind, _, name in (one.partition("/") for one in inventory):
        if name not in true and any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for text in texts):
            found[f"{plural_of(kind)}/{name}"] = None
            if plural_of(kind) in _TEMPLATED:
                found[f"pods/{name}"] = None
    return list(found)
