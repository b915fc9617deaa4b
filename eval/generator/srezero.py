"""The suite `srezero`: SRE-Zero's 40 tasks as incidents of its five services, each with a cause that acts.

They are made from one table (`srezero.yaml`). A wrong setting is a rollout with a wrong variable; a service that
crashed is a process that was stopped by a signal; a leak is memory that a web server's pod keeps until it is made anew.
The page is the alert. `srezero:25` are those of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from simcluster.apps.srezero.web import PODS
from simcluster.engine.content import Content, Library, UnknownName, read_document
from simcluster.eval.generator.suite import text_of
from simcluster.tasks.model import Task

PREFIX, APP, NAMESPACE = "srezero", "srezero", "internal"
#: How many tasks there are, and how many of them are the paper's.
WHOLE, PAPER = 40, 25
FIRST_AT, RPS = "30s", 240.0
_ENTRY = "load-balancer"
#: Deployments of several replicas, all of which may not be deleted at once.
_SEVERAL = {"web-server": PODS}


class Fix(Content):
    """What mends a task: a restart, or a key with a value of at least `least`, or `equal`; `to` is a right one."""

    restart: bool = False
    key: str = ""
    least: int | None = None
    equal: bool | int | str | None = None
    to: bool | int | str | None = None


class Row(Content):
    """A task as the table has it: names of services are SRE-Zero's.

    Attributes:
        broken: the wrong value of the key; `there`: SRE-Zero's own, where that is another one.
        halted: the Deployment whose process is stopped; `leaked`: MiB that a web server's pods keep.
        evidence: what tells of the cause: `L:`, `M:` or `S:` and a service, `C:` and a service and a key.
        lures: services that look guilty.
        steps: how many actions there are.
        rps, after: how often users ask; when the page comes.
    """

    id: str
    level: str
    split: str
    paper: bool = False
    service: str
    fix: Fix
    broken: bool | int | str | None = None
    there: bool | int | str | None = None
    halted: str = ""
    leaked: int = 0
    cause: str
    evidence: tuple[str, ...] = Field(min_length=1)
    lures: tuple[str, ...] = ()
    steps: int
    rps: float = RPS
    after: str = "120s"
    alert: str

    @property
    def deployment(self) -> str:
        """The Deployment of its service."""
        return workload(self.service)


class Incidents(NamedTuple):
    """The 40 tasks, or the paper's 25."""

    size: int = WHOLE

    @classmethod
    def parse(cls, text: str) -> Incidents | None:
        """From `srezero` or `srezero:25`; None if it is no such name.

        Raises:
            ValueError: it is one, and wrong.

        >>> Incidents.parse("srezero:25"), Incidents.parse("lite")
        (Incidents(size=25), None)
        """
        name, colon, count = text.partition(":")
        if name != PREFIX:
            return None
        if colon and count not in (str(PAPER), str(WHOLE)):
            raise ValueError(f"write {PREFIX} ({WHOLE} tasks) or {PREFIX}:{PAPER} (those of the paper), not {text!r}")
        return cls(int(count) if colon else WHOLE)

    def written(self, folder: Path, library: Library | None = None) -> list[str]:
        """Paths of the task files, made in a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        found = []
        for row in self.rows():
            path = folder / f"{task_id(row)}.yaml"
            path.write_text(text_of(task_of(row)))
            found.append(str(path))
        return found

    def rows(self) -> Iterator[Row]:
        """Those that belong to it, in SRE-Zero's order."""
        return (row for row in table() if self.size == WHOLE or row.paper)


@cache
def table() -> tuple[Row, ...]:
    """Every task. Raises ContentError, ValidationError: the table is wrong."""
    return tuple(Row.model_validate(one) for one in read_document(Path(__file__).with_name("srezero.yaml")).data)


def row_of(name: str) -> Row:
    """The row of SRE-Zero's name of a task. Raises UnknownName."""
    for row in table():
        if row.id == name:
            return row
    raise UnknownName("task of SRE-Zero", name, [row.id for row in table()])


def workload(service: str) -> str:
    """The Deployment of a service.

    >>> workload("message_queue")
    'message-queue'
    """
    return service.replace("_", "-")


def text(value: bool | int | str | None) -> str:
    """A value as a variable holds it.

    >>> text(False), text(96)
    ('false', '96')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def task_id(row: Row) -> str:
    """Its id here."""
    return f"{PREFIX}-{row.id.replace('_', '-')}"


def task_of(row: Row) -> Task:
    """The task of a row."""
    name = row.deployment
    return Task.model_validate(
        {
            "id": task_id(row),
            "title": f"{row.cause[0].upper()}{row.cause[1:]}",
            "known_as": {PREFIX: row.id},
            "app": APP,
            "namespace": NAMESPACE,
            "users": {"entry": _ENTRY, "rps": row.rps},
            "ticket": {"text": row.alert, "after": row.after},
            "incident": [_fault(row)],
            "committed_depth": "D3",
            "protects": [_ENTRY],
            "accepted_when": [
                {"check": "rollout_complete", "args": {"deployment": name}},
                {"check": "users_succeed", "args": {"entry": _ENTRY, "ratio": 0.99, "for": "60s"}},
                {"check": "cause_gone"},
                {"check": "nothing_worse_than_before"},
            ],
            "reference_fixes": _fixes(row),
            "reference_diagnoses": _diagnoses(row),
            "age": 0,
            **({"must_not_pass": [one for one in _FORBIDDEN if one != _RESTART],
                "exempt": [{"attempt": _RESTART, "reason": "a service that is started anew is the repair"}]}
               if row.fix.restart else {}),
        }
    )  # fmt: skip


_RESTART = "restart_all"
_FORBIDDEN = ("noop", _RESTART, "delete_target", "scale_to_zero", "delete_namespace")


def _fault(row: Row) -> dict[str, Any]:
    if row.halted:
        target = {"kind": "Node", "node_of": row.halted}
        return {"fault": "process_halted", "at": FIRST_AT, "target": target, "params": {"program": row.halted}}
    if row.leaked:
        target = {"kind": "Deployment", "name": row.deployment}
        return {"fault": "memory_kept", "at": FIRST_AT, "target": target, "params": {"mib": row.leaked}}
    params = {"variable": row.fix.key, "value": text(row.broken)}
    target = {"kind": "Deployment", "name": row.deployment}
    return {"fault": "wrong_setting", "at": FIRST_AT, "target": target, "params": params}


def _fixes(row: Row) -> list[list[dict[str, str]]]:
    name, rest = row.deployment, [{"wait": "120s"}]
    done = {"kubectl": f"rollout status deployment/{name} -n {NAMESPACE} --timeout=180s"}
    if row.fix.restart:
        first = {"kubectl": f"rollout restart deployment/{name} -n {NAMESPACE}"}
        other = [{"kubectl": f"delete pod -l app={name} -n {NAMESPACE}"}]
        if row.halted in _SEVERAL:  # one more pod, and one less: who is not ready goes first
            scale, usual = f"scale deployment/{name} -n {NAMESPACE} --replicas=", _SEVERAL[row.halted]
            other = [{"kubectl": f"{scale}{usual + 1}"}, {"wait": "30s"}, {"kubectl": f"{scale}{usual}"}]
        elif name in _SEVERAL:  # a variable that nobody reads makes all anew, one after the other
            other = [{"kubectl": f"set env deployment/{name} -n {NAMESPACE} STARTED=again"}, done]
        return [[first, done, *rest], [*other, *rest]]
    first = {"kubectl": f"set env deployment/{name} -n {NAMESPACE} {row.fix.key}={text(row.fix.to)}"}
    return [[first, done, *rest], [{"kubectl": f"rollout undo deployment/{name} -n {NAMESPACE}"}, done, *rest]]


def _diagnoses(row: Row) -> dict[str, Any]:
    name = row.deployment
    wrong = [f"The image of Deployment {one} cannot be pulled." for one in ("cache", "web-server") if one != name]
    if row.halted:
        said = f"The process {row.halted} is stopped by a signal (SIGSTOP) and answers nothing."
        claim = {"component": "Node/<target>", "mechanism": said, "scope": ["<target>"]}
        return {"right": [{"claims": [claim]}], "plausible_but_wrong": wrong}
    if row.leaked:
        said = f"The memory of Deployment {name} is nearly used up: files in /dev/shm of its pods are kept in memory."
        return {"right": [said], "plausible_but_wrong": wrong}
    details, how = {row.fix.key: text(row.broken)}, "an environment variable has a wrong value"
    setting = {"component": f"Deployment/{name}", "mechanism": how, "details": details, "scope": [name]}
    return {"right": [setting], "plausible_but_wrong": wrong}
