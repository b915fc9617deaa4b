"""The orchestrator: gives an agent its problem, does what it replies, judges what it submits.

An agent is any object with `async get_action(input) -> str`. Times (`TTD`, `TTL`, `TTA`, `TTM`) are simulated seconds
since the page, so that they repeat; tokens are counted as four characters each, since a tokenizer would be downloaded.
Unlike there, `submit` takes named arguments, too, and a mitigation is judged by the examination of the episode.
"""

from __future__ import annotations

import enum
import inspect
import json
import time
import uuid
from pathlib import Path
from typing import Any, Protocol

from simcluster.engine.content import Library
from simcluster.eval.chat.context import CHARACTERS
from simcluster.eval.episode import Episode, start
from simcluster.eval.frameworks.aiopslab.actions import ACTIONS, ActionError, Actions
from simcluster.eval.frameworks.aiopslab.problems import KINDS, LEVELS, TYPES, Kind, Problem, analysed, ids, problem
from simcluster.eval.frameworks.aiopslab.reply import Call, ReplyError, parsed
from simcluster.surface.protocols import BudgetExceeded

_NEXT = "Please take the next action"
_TIMES: dict[Kind, str] = {"detection": "TTD", "localization": "TTL", "analysis": "TTA", "mitigation": "TTM"}
_ASKED: dict[Kind, str] = {
    "detection": 'Find out whether something is wrong. Then submit("Yes") or submit("No").',
    "localization": 'Find what is wrong. Then submit(["component", ...]): its name, or a list of names.',
    "analysis": (
        'Find the kind of cause. Then submit({"system_level": ..., "fault_type": ...}): one of '
        f"{', '.join(LEVELS)}; and one of {', '.join(TYPES)}."
    ),
    "mitigation": "Mend what is wrong, so that users are served again. Then submit().",
}
_HOW = (
    "Each of your replies holds exactly one call of an action between two lines of three backticks, such as\n"
    '```\nexec_shell("kubectl get pods -A")\n```\nWhat it gives comes back in the next message.'
)
_SUBMIT = "Submit your solution; this ends the problem."


class SubmissionStatus(enum.Enum):
    """What came of a step."""

    VALID_SUBMISSION = 1
    INVALID_SUBMISSION = 2


class Agent(Protocol):
    """Whoever replies."""

    async def get_action(self, input: str) -> str:
        """The next reply."""


class Orchestrator:
    """One problem after the other.

    Args:
        results_dir: where sessions are written as JSON; None: nowhere.
        seed, noise: of the incidents.
        library: where tasks are looked for besides.

    Attributes:
        episode: the incident of the present problem; None before `init_problem`.
    """

    def __init__(
        self,
        results_dir: str | Path | None = None,
        *,
        seed: int = 0,
        noise: str | None = None,
        library: Library | None = None,
    ) -> None:
        self.results_dir = None if results_dir is None else Path(results_dir)
        self.episode: Episode | None = None
        self._seed, self._noise, self._library = seed, noise, library
        self._agent: Agent | None = None
        self._agent_name = ""
        self._problem: Problem | None = None
        self._actions: Actions | None = None
        self._trace: list[dict[str, str]] = []

    @property
    def problem_ids(self) -> list[str]:
        """Every problem there is."""
        return ids()

    def register_agent(self, agent: Agent, name: str = "agent") -> None:
        """Say who works."""
        self._agent, self._agent_name = agent, name

    def init_problem(self, problem_id: str) -> tuple[str, str, dict[str, str]]:
        """Let an incident happen, up to its page.

        Returns:
            What the problem is, how to reply, and what each action does.

        Raises:
            UnknownName: there is no such problem.
        """
        self._problem = asked = problem(problem_id)
        self.episode = episode = start(asked.task, self._seed, self._noise, self._library)
        self._actions = Actions(episode)
        self._trace = []
        statement = f"A Kubernetes cluster runs an application in the namespace {episode.task.namespace}."
        if asked.kind != "detection":
            statement += f" The page: {episode.alert}"
        actions = {name: inspect.getdoc(getattr(Actions, name)) or "" for name in ACTIONS}
        return f"{statement}\n{_ASKED[asked.kind]}", _HOW, actions | {"submit": _SUBMIT}

    async def start_problem(self, max_steps: int = 30) -> dict[str, Any]:
        """Let the agent work; out of steps, or when it raises something (`error`), it is judged without a solution.

        Returns:
            `history` (what was said), `final_state`, `results`, `framework_overhead` (wall-clock seconds here).

        Raises:
            RuntimeError: there is no agent or no problem.
        """
        if self._agent is None or self._problem is None or self.episode is None:
            raise RuntimeError("register_agent and init_problem come first")
        begun, thought_s, said, failed = time.time(), 0.0, _NEXT, ""
        state, solution = SubmissionStatus.INVALID_SUBMISSION, None
        for _ in range(max_steps):
            asked_s = time.time()
            try:
                reply = await self._agent.get_action(said)
            except Exception as problem:  # the agent is gone: judged as far as it came
                failed = f"{type(problem).__name__}: {problem}"
                break
            finally:
                thought_s += time.time() - asked_s
            self._trace.append({"role": "assistant", "content": str(reply)})
            answer, state, solution = self._done(reply)
            self._trace.append({"role": "env", "content": answer})
            if state is SubmissionStatus.VALID_SUBMISSION:
                break
            said = f"{answer}\n{_NEXT}"
        results = self._judged(solution) | ({"error": failed} if failed else {})
        ended = time.time()
        self._write(begun, ended, results)
        overhead_s = ended - begun - thought_s
        return {"history": self._trace, "final_state": state, "results": results, "framework_overhead": overhead_s}

    def _done(self, reply: object) -> tuple[str, SubmissionStatus, Any]:
        """What a reply came to: the answer, whether it ends the problem, and what was submitted."""
        assert self._actions is not None
        going_on = SubmissionStatus.INVALID_SUBMISSION
        try:
            call = parsed(reply)
            if call.name != "submit":
                return self._actions.call(*call), going_on, None
        except ReplyError as problem:
            return f"Error parsing response: {problem}", going_on, None
        except ActionError as problem:
            return f"Error: {problem}", going_on, None
        except BudgetExceeded as reached:
            return f"Error: {reached}. Only submit is taken now.", going_on, None
        return str(SubmissionStatus.VALID_SUBMISSION.value), SubmissionStatus.VALID_SUBMISSION, _solution(call)

    def _judged(self, solution: Any) -> dict[str, Any]:
        assert self.episode is not None
        assert self._problem is not None
        episode, kind = self.episode, self._problem.kind
        seconds = (episode.world.sim.now - episode.inbox.opened_ns) / 1e9
        said = [one["content"] for one in self._trace if one["role"] == "assistant"]
        read = [one["content"] for one in self._trace if one["role"] != "assistant"]
        found = {
            "detection": self._detected, "localization": self._localized, "analysis": self._analysed,
            "mitigation": self._mitigated,
        }[kind](solution)  # fmt: skip
        counted = {"steps": len(said), "in_tokens": _tokens(read), "out_tokens": _tokens(said)}
        return {**found, _TIMES[kind]: seconds, **counted, "digest": episode.digest}

    def _detected(self, solution: Any) -> dict[str, Any]:
        if not isinstance(solution, str) or solution.strip().lower() not in ("yes", "no"):
            return {"Detection Accuracy": "Invalid Format", "success": False}
        right = solution.strip().lower() == "yes"
        return {"Detection Accuracy": "Correct" if right else "Incorrect", "success": right}

    def _localized(self, solution: Any) -> dict[str, Any]:
        assert self.episode is not None
        named = [solution] if isinstance(solution, str) else solution
        if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
            return {"Localization Accuracy": 0.0, "success": False, "is_subset": False}
        said = {one.strip().lower().rpartition("/")[2] for one in named}
        truth = {self.episode.task.truth.component.lower().rpartition("/")[2]}
        exact, contained = said == truth, truth <= said
        accuracy = 100.0 if exact else 100.0 * len(truth) / len(said) if contained else 0.0
        return {"Localization Accuracy": accuracy, "success": exact, "is_subset": contained}

    def _analysed(self, solution: Any) -> dict[str, Any]:
        assert self.episode is not None
        assert self._problem is not None
        level, kind = analysed(self._problem, self.episode.task)
        given = solution if isinstance(solution, dict) else {}
        right = {"system_level_correct": _same(given.get("system_level"), level)}
        right["fault_type_correct"] = _same(given.get("fault_type"), kind)
        return {**right, "success": all(right.values())}

    def _mitigated(self, solution: Any) -> dict[str, Any]:
        assert self.episode is not None
        verdict = self.episode.finish().mitigation
        why = [one.why for one in verdict.results if not one.passed]
        return {"success": verdict.passed, "why": why}

    def _write(self, begun: float, ended: float, results: dict[str, Any]) -> None:
        if self.results_dir is None or self._problem is None:
            return
        self.results_dir.mkdir(parents=True, exist_ok=True)
        session = str(uuid.uuid4())
        found: dict[str, Any] = {"agent": self._agent_name, "session_id": session, "problem_id": self._problem.id}
        found |= {"start_time": begun, "end_time": ended, "trace": self._trace, "results": results}
        (self.results_dir / f"{session}_{int(begun)}.json").write_text(json.dumps(found, indent=2) + "\n")


def _solution(call: Call) -> Any:
    values = [*call.arguments, *call.named.values()]
    return values[0] if values else None


def _same(said: object, right: str) -> bool:
    return isinstance(said, str) and said.strip().lower() == right.lower()


def _tokens(texts: list[str]) -> int:
    return sum(map(len, texts)) // CHARACTERS


__all__ = ["KINDS", "Orchestrator", "SubmissionStatus"]
