"""An environment with SRE-Zero's interface: `reset`, `step`, its rewards; behind it a cluster that acts.

Two ways to score. `compat`: a remediation is right, a cause and a fix are named as SRE-Zero's rules say, whatever the
cluster makes of it. `behavioural`: a remediation is right if the incident is over when the work is, by the episode's
examination; the cause is judged as every diagnosis here, or named as it is there. Unlike there the incident's id is not
the task's name, findings hand out no interpretation, no answer tells whether a remediation was right, and metrics move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from simcluster.engine.content import Library
from simcluster.engine.streams import Streams
from simcluster.eval.episode import Episode, start
from simcluster.eval.frameworks.srezero.actions import TEMPLATES, Action, ActionError, action_of
from simcluster.eval.frameworks.srezero.operations import Operations
from simcluster.eval.frameworks.srezero.truth import SERVICES, mends, names_cause, names_fix
from simcluster.eval.generator.srezero import Row, row_of, table, task_of
from simcluster.eval.process.measures import PENALTIES, REWARDS
from simcluster.surface.protocols import BudgetExceeded

Scoring = Literal["compat", "behavioural"]
_KINDS = {"inspect_logs": "L", "inspect_metrics": "M", "check_status": "S", "inspect_config": "C"}
_NAMES = {"L": "logs", "M": "metrics", "S": "status", "C": "configuration"}


class Observation(NamedTuple):
    """What an agent is shown."""

    incident_id: str
    step: int
    steps_remaining: int
    alert: str
    last_action: str
    last_result: dict[str, Any]
    known_findings: list[str]
    available_tools: tuple[str, ...]
    done: bool


class StepResult(NamedTuple):
    """What a step came to: `reward` is the change of the sum, between -1 and 1."""

    observation: Observation
    reward: float
    done: bool
    info: dict[str, Any]


class SREEnv:
    """One incident after the other.

    Args:
        task_id: SRE-Zero's name of a task; None: one that the seed draws at each `reset`.
        scoring: by whose rules.
        seed: of the incident.
        library: where tasks are looked for besides.

    Attributes:
        episode: the incident that is worked on; None before `reset`.
    """

    def __init__(
        self,
        task_id: str | None = None,
        scoring: Scoring = "behavioural",
        seed: int = 0,
        library: Library | None = None,
    ) -> None:
        if scoring not in ("compat", "behavioural"):
            raise ValueError(f"scoring is compat or behavioural, not {scoring!r}")
        self.scoring = scoring
        self.episode: Episode | None = None
        self._task_id, self._seed, self._library = task_id, seed, library
        self._row: Row = table()[0]

    def reset(self, task_id: str | None = None, seed: int | None = None) -> Observation:
        """Begin an incident. Raises UnknownName: SRE-Zero has no such task."""
        self._seed = self._seed if seed is None else seed
        wanted = task_id or self._task_id
        rows = table()
        drawn = Streams(self._seed).stream("srezero task").choice(list(range(len(rows))))
        self._row = row_of(wanted) if wanted is not None else rows[drawn]
        self.episode = start(task_of(self._row), self._seed, library=self._library)
        self._operations = Operations(self.episode)
        self._found: dict[str, None] = {}
        self._wrong, self._seen = dict[str, int](), dict[str, int]()
        self._counts = dict.fromkeys(
            (*PENALTIES, "evidence", "remedies", "right_service", "right", "lured", "steps"), 0
        )
        self._named = {"root_cause": False, "fix": False}
        self._reason, self._raw, self._parts = "", 0.0, dict[str, float]()
        self._resolved = self._mended = False
        return self._observed("", {"summary": "the incident begins", "details": {}, "error": None})

    def step(self, action: str | Action | dict[str, Any]) -> StepResult:
        """Do an action; a wrong one costs a step, too. Raises RuntimeError: there is no incident, or it is over."""
        if self.episode is None or self._reason:
            raise RuntimeError("the incident is over: call reset")
        self._counts["steps"] += 1
        try:
            wanted = action_of(action)
            self._check(wanted)
            shown, result = wanted.canonical, self._done(wanted)
        except ActionError as problem:
            shown = action if isinstance(action, str) else str(action)
            result = {"summary": "invalid action", "details": {}, "error": str(problem)}
            again = self._wrong.get(shown, 0)
            self._wrong[shown] = again + 1
            self._counts["repeated_invalid_action" if again else "invalid_action"] += 1
        except BudgetExceeded as reached:
            result = {"summary": "nothing is left of the budget", "details": {}, "error": str(reached)}
            shown, self._reason = str(action), "step_budget_exhausted"
        if not self._reason and self._counts["steps"] >= self._row.steps:
            self._reason = "step_budget_exhausted"
        if self._reason and self.scoring == "behavioural" and not self._resolved:
            self._mended = self._is_over()
        return self._result(shown, result)

    @property
    def metrics(self) -> dict[str, Any]:
        """SRE-Zero's metrics of the episode so far."""
        counts = self._counts
        return {
            "total_steps": counts["steps"],
            "invalid_actions": counts["invalid_action"] + counts["repeated_invalid_action"],
            "repeated_actions": counts["repeated_useless_action"],
            "evidence_actions": counts["evidence"],
            "remediation_actions": counts["remedies"],
            "correct_service_remediations": counts["right_service"],
            "correct_remediations": counts["right"],
            "wrong_remediations": counts["wrong_remediation"],
            "distractor_failures": counts["lured"],
            "premature_resolutions": counts["premature_resolution"],
            "root_cause_identified": self._named["root_cause"],
            "fix_identified": self._named["fix"],
            "correct_remediation_applied": self._mended,
            "success": self._resolved,
            "evidence_coverage": len(self._found) / len(self._row.evidence),
            "final_reward": min(1.0, max(0.0, self._sum())),
        }

    def _check(self, action: Action) -> None:
        if action.action_type not in ("resolve_incident", "escalate") and not self._operations.knows(action.service):
            raise ActionError(f"there is no service {action.service}; there are {', '.join(SERVICES)}")

    def _done(self, action: Action) -> dict[str, Any]:
        kind = action.action_type
        if kind == "escalate":
            self._reason = "escalated"
            return {"summary": "escalated", "details": {"reason": action.reason}, "error": None}
        if kind == "resolve_incident":
            return self._resolve(action)
        if kind in _KINDS:
            return self._look(action)
        return self._mend(action)

    def _look(self, action: Action) -> dict[str, Any]:
        operations, kind = self._operations, _KINDS[action.action_type]
        looks: dict[str, Callable[[], dict[str, Any]]] = {
            "L": lambda: operations.logs(action.service),
            "M": lambda: operations.metrics(action.service),
            "S": lambda: operations.status(action.service),
            "C": lambda: operations.config(action.service, action.key),
        }
        details = looks[kind]()
        head = f"{kind}:{action.service}"
        fits = [one for one in self._row.evidence if one == head or (kind == "C" and one.startswith(f"{head}:"))]
        if kind == "C" and action.key:
            fits = [one for one in fits if one.endswith(f":{action.key.upper()}")]
        fresh = [one for one in fits if one not in self._found]
        self._found |= dict.fromkeys(fresh)
        self._counts["evidence"] += bool(fresh)
        before = self._seen.get(action.canonical, 0)
        self._seen[action.canonical] = before + 1
        if before and not fresh:
            self._counts["repeated_useless_action"] += 1
        return {"summary": f"{_NAMES[kind]} of {action.service}", "details": details, "error": None}

    def _mend(self, action: Action) -> dict[str, Any]:
        operations, counts = self._operations, self._counts
        if action.action_type == "restart_service":
            details = operations.restart(action.service)
        else:
            details = operations.update(action.service, action.key, action.value)
        counts["remedies"] += 1
        self._seen.clear()  # what was read may be different now
        right_service, right = action.service == self._row.service, mends(self._row, action)
        counts["right_service"] += right_service
        counts["right"] += right
        if self.scoring == "compat":
            self._mended = self._mended or right
        if not (right if self.scoring == "compat" else right_service):
            counts["wrong_remediation"] += 1
            counts["lured"] += action.service in self._row.lures
            counts["restart_unrelated_service"] += action.action_type == "restart_service" and not right_service
        return {"summary": f"{action.canonical} was done", "details": details, "error": None}

    def _resolve(self, action: Action) -> dict[str, Any]:
        assert self.episode is not None
        if self.scoring == "compat":
            self._named["root_cause"] = names_cause(self._row, action.root_cause)
            self._named["fix"] = names_fix(self._row, action.fix)
        else:
            self.episode.diagnose(f"{action.root_cause}\n{action.fix}")
            report = self.episode.finish()
            self._mended = report.mitigation.passed
            self._named["root_cause"] = report.diagnosis.passed or names_cause(self._row, action.root_cause)
            self._named["fix"] = self._mended
        self._resolved = self._mended and all(self._named.values())
        self._reason = "resolved" if self._resolved else "premature_or_incorrect_resolution"
        self._counts["premature_resolution"] += not self._resolved
        return {"summary": "resolved" if self._resolved else "not resolved", "details": {}, "error": None}

    def _is_over(self) -> bool:
        assert self.episode is not None
        return self.episode.finish().mitigation.passed

    def _sum(self) -> float:
        row, steps = self._row, self._counts["steps"]
        parts = {
            "evidence": REWARDS["evidence"] * len(self._found) / len(row.evidence),
            "root_cause": REWARDS["root_cause"] * self._named["root_cause"],
            "remediation": REWARDS["remediation"] * self._mended,
            "resolution": REWARDS["resolution"] * self._resolved,
            "efficiency": REWARDS["efficiency"] * max(0, row.steps - steps) / row.steps * self._resolved,
        }
        costs = {name: -cost * self._counts[name] for name, cost in PENALTIES.items() if self._counts[name]}
        self._parts = {**parts, **costs}
        return math.fsum(self._parts.values())

    def _result(self, shown: str, result: dict[str, Any]) -> StepResult:
        raw = self._sum()
        change, self._raw = raw - self._raw, raw
        total = min(1.0, max(0.0, raw))
        known = {name: round(value, 4) for name, value in self._parts.items()}
        rewards = {
            "components": {name: known[name] for name in REWARDS},
            "penalties": {name: known[name] for name in PENALTIES if name in known},
            "raw_total": round(raw, 4),
            "total": round(total, 4),
        }
        info = {
            "reward_components": rewards,
            "invalid_action": result["summary"] == "invalid action",
            "terminal_reason": self._reason or None,
            "metrics_so_far": self.metrics,
            "evidence_coverage": len(self._found) / len(self._row.evidence),
        }
        return StepResult(self._observed(shown, result), min(1.0, max(-1.0, change)), bool(self._reason), info)

    def _observed(self, shown: str, result: dict[str, Any]) -> Observation:
        assert self.episode is not None
        findings = [f"{_NAMES[one[0]]} of {one.split(':')[1]}" for one in self._found]
        number = [row.id for row in table()].index(self._row.id)
        name = f"incident-{Streams(self._seed).key('srezero incident', str(number)) % 10**6:06d}"
        left = self._row.steps - self._counts["steps"]
        steps = self._counts["steps"]
        return Observation(
            name, steps, left, self.episode.alert, shown, result, findings, TEMPLATES, bool(self._reason)
        )
