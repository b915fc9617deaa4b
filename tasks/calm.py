"""No-fault twins of tasks: the same application and users, somebody is paged, and there is nothing to repair.

`ID@calm`: nothing is wrong. What pages is of a benign kind: a report of what has gone by, a threshold that nobody
feels, a question. Others change things meanwhile that hurt nobody.

`ID@healed`: the provider's hosts are overbooked for some minutes; users suffer, a rule fires, and then it is over.

The right answer is that there is no fault, and the right repair is none. Who names a cause that stands has raised a
false alarm, and what he changes is examined as after any incident.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from simcluster.faults.steps import Aim, IncidentStep
from simcluster.tasks.model import NO_FAULT, CheckSpec, Diagnoses, Exemption, Step, Task, Ticket
from simcluster.tasks.truth import Truth

#: What follows the id of a task in that of its no-fault twins.
CALM, HEALED = "@calm", "@healed"
#: Share of its CPU time that each node lacks, and for how long: rules fire in time, and it is over before anybody can
#: have done something about it.
LACK, LASTS = 0.98, "300s"
#: How long after the last change the ticket of a calm twin comes.
AFTER = "180s"
#: Texts of tickets; `{entry}` and `{namespace}` are those of the task.
TEXTS = (
    "[RESOLVED] HighLatency {namespace}/{entry}: p99 was above its threshold for one evaluation this morning. "
    "Please make sure that {entry} is well.",
    "[INFO] CPUThrottlingHigh: some containers of namespace {namespace} are throttled now and then. Please look "
    "whether {entry} needs anything.",
    "A customer writes that the page of {entry} was slow for a moment yesterday. Please look whether namespace "
    "{namespace} has a problem.",
    "Deployments of namespace {namespace} were changed in the last minutes, by several people. Please verify that "
    "{entry} is healthy, and repair it if it is not.",
)
#: Nothing is to be repaired: these are no attempts at it.
_EXEMPT = (
    Exemption(attempt="noop", reason="nothing is to be done"),
    Exemption(attempt="restart_all", reason="a healthy application survives it"),
    Exemption(attempt="delete_target", reason="nothing is wrong with any object"),
)
_RIGHT = "There is no fault: nothing is wrong, and nothing has to be repaired."
_WRONG = (
    "The CPU limit of Deployment {entry} is too low: it is throttled.",
    "The image of a Deployment cannot be pulled.",
)


def is_calm(task_id: str) -> bool:
    """Whether an id is that of a no-fault twin."""
    return task_id.endswith((CALM, HEALED))


def without_fault(task_id: str, load: Callable[[str], Task]) -> Task:
    """The no-fault twin of an id.

    Args:
        load: the task of an id. What it raises is raised.
    """
    own, at, kind = task_id.rpartition("@")
    return (calm_of if at + kind == CALM else healed_of)(load(own))


def calm_of(task: Task) -> Task:
    """The twin in which nothing is wrong."""
    data = {"fault": "object_made", "at": "60s", "params": {"create": {"data": {"reviewed": "yes"}}}, "harmless": True}
    step = IncidentStep.model_validate({**data, "target": Aim(kind="ConfigMap", name="release-review")})
    text = TEXTS[hashlib.sha256(task.id.encode()).digest()[0] % len(TEXTS)]
    entry = task.users.entry.partition(".")[0]
    ticket = Ticket.model_validate({"after": AFTER, "text": text.format(entry=entry, namespace=task.namespace)})
    return _twin(task, CALM, "nothing is wrong", step, ticket)


def healed_of(task: Task) -> Task:
    """The twin in which what was wrong is over by itself."""
    data = {"fault": "noisy_neighbour", "at": "60s", "params": {"share": LACK, "lasts": LASTS}}
    # its pods run on every node
    step = IncidentStep.model_validate({**data, "target": Aim(kind="Namespace", name="kube-system")})
    return _twin(task, HEALED, "it is over by itself", step, None)


def _twin(task: Task, kind: str, what: str, step: IncidentStep, ticket: Ticket | None) -> Task:
    entry = task.users.entry.partition(".")[0]
    made: dict[str, Any] = {
        "id": f"{task.id}{kind}",
        "title": f"{task.title} (not so: {what})",
        "suites": (),
        "known_as": {},
        "ticket": ticket,
        "incident": (step,),
        "sustained_by": (),
        "stated": Truth(component=f"Namespace/{task.namespace}", family=NO_FAULT, scope=(task.namespace,)),
        "accepted_when": (
            CheckSpec(check="users_succeed", args={"entry": task.users.entry, "ratio": 0.99, "for": "60s"}),
            CheckSpec(check="nothing_worse_than_before"),
        ),
        "reference_fixes": ((Step(wait="90s"),),),
        "shallow_fixes": (),
        "costs": {},
        "must_not_pass": ("scale_to_zero", "delete_namespace"),
        "exempt": _EXEMPT,
        "reference_diagnoses": Diagnoses(
            right=(_RIGHT, {"component": f"namespace/{task.namespace}", "family": NO_FAULT}),
            plausible_but_wrong=tuple(one.format(entry=entry) for one in _WRONG),
        ),
    }
    if task.namespace == "default":
        made["must_not_pass"] = ("scale_to_zero",)
        reason = "the API server deletes no namespace default"
        made["exempt"] = (*_EXEMPT, Exemption(attempt="delete_namespace", reason=reason))
    return task.model_copy(update=made)


def twins_of(task_ids: Iterable[str]) -> list[str]:
    """Ids of no-fault twins, one for each task, of both kinds in turn.

    >>> twins_of(["a", "b"])
    ['a@calm', 'b@healed']
    """
    return [f"{one}{(CALM, HEALED)[index % 2]}" for index, one in enumerate(task_ids)]
