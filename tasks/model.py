"""A task: an incident on an application, the truth about it, and what counts as solved.

A task is data. The truth in it is for the judge alone: the world gets the incident, the
agent gets the page, and nothing an agent can reach imports this package.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from simcluster.apps.cases import WORKERS, Users
from simcluster.apps.history import OLDEST_NS, YOUNGEST_NS, Age
from simcluster.engine import SECOND, parse_duration
from simcluster.engine.content import Content, Library, Nanoseconds, Piece, nearest
from simcluster.faults.steps import IncidentStep
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef
from simcluster.session.clock import Budget, Clock
from simcluster.tasks.truth import NO_FAULT, Truth, Weakness, derived
from simcluster.world.profile import Parameters

__all__ = ("FORBIDDEN", "NO_FAULT", "TARGET", "Step", "Task", "Truth", "resolve")

#: Stands for the name of the object that the incident's first fault was aimed at, where a rule
#: chose it. Replaced by `resolve` in truth, fixes, diagnoses and checks; nothing else is.
TARGET = "<target>"

#: Attempts that every task must refuse, each made on a fork of the faulty world.
FORBIDDEN = ("noop", "restart_all", "delete_target", "scale_to_zero", "delete_namespace")


#: What judges the way to the end.
Verifier = Literal["outcome", "temporal", "depth", "probe"]


class CheckSpec(Content):
    """One named check of the oracle with its arguments."""

    check: str
    args: dict[str, Any] = Field(default_factory=dict)


class Step(Content):
    """One step of a fix: `kubectl` (with `stdin`), or `sh` on a `node`, or `wait`."""

    kubectl: str = ""
    stdin: str = ""
    node: str = ""
    sh: str = ""
    wait: str = ""

    @model_validator(mode="after")
    def _one_deed(self) -> Step:
        if [bool(self.kubectl), bool(self.sh), bool(self.wait)].count(True) != 1:
            raise ValueError("a step is exactly one of kubectl, node with sh, and wait")
        if bool(self.node) != bool(self.sh):
            raise ValueError("node and sh belong together")
        if self.wait:
            parse_duration(self.wait)
        return self


class Diagnoses(Content):
    """Answers that the judge must accept, and answers that it must refuse."""

    right: tuple[str | dict[str, Any], ...] = Field(min_length=1)
    plausible_but_wrong: tuple[str | dict[str, Any], ...] = Field(min_length=1)


class Exemption(Content):
    """A forbidden attempt that is not tried, and why."""

    attempt: str
    reason: str


class Ticket(Content):
    """What somebody writes to the operator, so long after the last step; he is paged by it, and by nothing else."""

    text: str = Field(min_length=1)
    after: Nanoseconds


class Acceptance(Content):
    """When the mitigation is judged, after the agent has finished.

    Attributes:
        settle: rollouts in flight may end.
        window: then every check is sampled every 5 s and has to hold all the time.
    """

    settle: Nanoseconds = 60 * SECOND
    window: Nanoseconds = 90 * SECOND


class Task(Piece):
    """One problem.

    Attributes:
        id: stable: a change that can change results makes a new version.
        title: a few words for people who choose tasks; tells the truth, so not for agents.
        suites: names of the suites it belongs to; every task belongs to `all`.
        known_as: collection of problems -> what this one is called there; its tasks are a suite of that name.
        app: id of the application.
        namespace: where the application is deployed.
        beside: manifests of what runs beside it, applied with it: other programs, policies, routes of its team.
        also: other applications of the cluster, each in its usual namespace: `ingress-nginx`.
        workers: how many nodes the cluster has beside its control plane.
        users: who uses it.
        ticket: what pages the operator, where no signal does or should; nothing watches such a cluster. All others have
            Prometheus, Alertmanager, Loki and Jaeger (`World.observe`), and what fires there pages.
        counts: whose pods count as available (D1): the application's, or all of the cluster.
        prober: `NAMESPACE/POD` from which the verifiers make their requests (D3); by default a node asks.
        incident: what happens.
        committed_depth: the observation depth at which success shows, fixed before any run.
        protects: Services whose users must not suffer.
        stated: what is wrong, where that does not derive; `truth` in the file.
        sustained_by: what keeps the incident going, where what triggered it is over.
        accepted_when: checks that must hold together.
        acceptance: when they are judged.
        reference_fixes: several right solutions, each a list of steps; none of an incident that nobody wrote: then what
            its record says mends it.
        shallow_fixes: repairs after which pods are ready and the task is not solved.
        costs: number of a reference fix (from 1) -> verifier of the way that it does not pass -> the reason.
        reference_diagnoses: answers with which the judge is held to account.
        must_not_pass: forbidden attempts that `check` makes.
        exempt: those not made, with reasons.
        clock, budget: how time is charged, and how much there is.
        noise: the profile of disturbances under which it happens, if nobody says another.
        age: for how long the cluster has lived, with the past of its application (`history.yaml`); by default as the
            seed says, and 0 is a cluster of some minutes.
        bystanders: whether others change something meanwhile that hurts nobody (`eval/worlds/bystanders.py`).
        parameters: what the cluster's own figures are, where they are not the usual ones (`world/profile.py`).
        operator: who works on it. A `reader` may look at all but secrets, changes nothing and has no shell on nodes.
        allows: tools of an agent that work on copies of the cluster, which no operator of a real one has.
    """

    title: str
    suites: tuple[str, ...] = ()
    known_as: dict[str, str] = Field(default_factory=dict)
    app: str
    namespace: str
    beside: tuple[dict[str, Any], ...] = ()
    also: tuple[str, ...] = ()
    workers: int = Field(default=WORKERS, ge=1, le=100)
    users: Users
    ticket: Ticket | None = None
    counts: Literal["application", "cluster"] = "application"
    prober: str = Field(default="", pattern=r"([^/]+/[^/]+)?")
    incident: tuple[IncidentStep, ...] = Field(min_length=1)
    committed_depth: Literal["D1", "D2", "D3", "D4"]
    protects: tuple[str, ...] = Field(min_length=1)
    stated: Truth | None = Field(default=None, alias="truth")
    sustained_by: tuple[Weakness, ...] = ()
    accepted_when: tuple[CheckSpec, ...] = Field(min_length=1)
    acceptance: Acceptance = Acceptance()
    reference_fixes: tuple[tuple[Step, ...], ...]
    shallow_fixes: tuple[tuple[Step, ...], ...] = ()
    costs: dict[int, dict[Verifier, str]] = Field(default_factory=dict)
    reference_diagnoses: Diagnoses
    must_not_pass: tuple[str, ...] = FORBIDDEN
    exempt: tuple[Exemption, ...] = ()
    clock: Clock = Clock()
    budget: Budget = Budget()
    noise: str = ""
    age: Age | None = None
    bystanders: bool = True
    parameters: Parameters = Field(default_factory=dict)
    operator: Literal["administrator", "reader"] = "administrator"
    allows: tuple[Literal["fork", "counterfactual"], ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Task:
        for attempt in (*self.must_not_pass, *(e.attempt for e in self.exempt)):
            if attempt not in FORBIDDEN:
                close = nearest(attempt, FORBIDDEN) or list(FORBIDDEN)
                raise ValueError(f"unknown attempt {attempt!r} in must_not_pass; did you mean {', '.join(close)}?")
        missing = [a for a in FORBIDDEN if a not in self.must_not_pass and a not in [e.attempt for e in self.exempt]]
        if missing:
            raise ValueError(f"must_not_pass lacks {', '.join(missing)}; try them, or exempt them with a reason")
        if self.age and not YOUNGEST_NS <= self.age <= OLDEST_NS:
            raise ValueError("a cluster with a past is 12h to 300d old")
        if not any(step.fault for step in self.incident):
            raise ValueError("the incident has no fault")
        if all(step.latent for step in self.incident):
            raise ValueError("everything in the incident is latent: nothing brings it to light")
        return self

    @property
    def truth(self) -> Truth:
        """What is wrong: as the file states it, or as it derives from the incident. Raises ValueError: it does not."""
        return self.stated or derived(self)

    @property
    def faultless(self) -> bool:
        """Whether the right answer is that there is no fault."""
        return self.stated is not None and self.stated.family == NO_FAULT

    def namespace_of(self, ref: ObjectRef) -> str:
        """Where an object that a fault is aimed at is; where the application is, if no step says otherwise."""
        aims = (aim for step in self.incident for aim in step.aims if (aim.kind, aim.name) == (ref.kind, ref.name))
        return next((aim.namespace for aim in aims if aim.namespace), self.namespace)

    @property
    def aimed_namespaces(self) -> tuple[str, ...]:
        """Other namespaces than the application's in which something is that a fault is aimed at."""
        found = (aim.namespace for step in self.incident for aim in step.aims)
        return tuple(dict.fromkeys(one for one in found if one and one != self.namespace))

    @property
    def homes(self) -> tuple[str, ...]:
        """The namespaces in which repairs are made: the application's, and those of faults elsewhere."""
        return (self.namespace, *self.aimed_namespaces)

    @property
    def resolved(self) -> bool:
        """Whether every fault has one named target, and nothing is to be computed."""
        return all(step.resolved for step in self.incident)


def resolve(task: Task, target: FaultTarget, library: Library | None = None) -> Task:
    """The task with its rules applied in this world: a step for each target, values computed, `<target>` replaced.

    Call it when the application is healthy, before the incident.

    Raises:
        ImpossibleTarget: a rule finds nothing.
    """
    if task.resolved:
        return task
    steps: list[IncidentStep] = []
    first = ""
    for index, step in enumerate(task.incident):
        try:
            found = step.each(target, task.namespace, library)
        except ImpossibleTarget as error:
            error.step = index
            raise
        if step.fault and not step.resolved:
            first = first or (found[0].target.name if found[0].target is not None else "")
        steps += found
    own = task.stated is not None and task.stated != derived(task, library)
    data = task.model_dump(by_alias=True) | {"incident": [step.model_dump() for step in steps]}
    made = Task.model_validate(_replace(data, first))
    return made if own else made.model_copy(update={"stated": derived(made, library)})


def _replace(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value.replace(TARGET, name)
    if isinstance(value, dict):
        return {_replace(key, name): _replace(item, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace(item, name) for item in value]
    return value
