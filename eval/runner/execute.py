"""One run, from the page to the grade. An agent's mistakes become the outcome of its run."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from typing import Any

from simcluster.agents import registry
from simcluster.agents.expert import ReferenceStep
from simcluster.agents.protocol import Agent
from simcluster.engine.content import Library
from simcluster.eval.episode import Episode, start
from simcluster.eval.runner.plan import Record, Run
from simcluster.eval.runner.session import HandedSession, Watcher
from simcluster.eval.trajectory.recorder import write_jsonl
from simcluster.surface.protocols import BudgetExceeded

#: Outcomes of a run. `done`: the agent returned. The others tell what ended it.
DONE, BUDGET, AGENT_ERROR, TIMEOUT, KILLED, HARNESS_ERROR = (
    "done",
    "budget",
    "agent_error",
    "timeout",
    "killed",
    "error",
)


def execute(
    run: Run, noise: str | None, library: Library, folder: Path | None, watcher: Watcher | None = None
) -> Record:
    """Run an agent on a task and grade it.

    Args:
        run: what to run.
        noise: a noise profile, or None.
        library: where content is looked for.
        folder: where the replay log and the trajectory are written; None writes nothing.
        watcher: is told of every command.

    Returns:
        The run record: see `record_of`.
    """
    began_s = time.perf_counter()
    episode = start(run.task, run.seed, noise, library)
    outcome, error = perform(episode, agent_for(run.agent, episode), watcher)
    report = episode.finish().to_dict()
    if folder is not None:
        episode.write_log(folder / f"{run.name}.log.jsonl", outcome, agent=run.agent)
        recorder = episode.recorder
        write_jsonl(folder / f"{run.name}.trajectory.jsonl", recorder.header(), recorder.records)
    return record_of(run, noise, outcome, error, time.perf_counter() - began_s, report)


def agent_for(name: str, episode: Episode) -> Agent:
    """A fresh agent; the expert is given the first reference fix, and finds out by itself what it is for."""
    steps = tuple(
        ReferenceStep(step.kubectl, step.stdin, step.node, step.sh, step.wait)
        for step in episode.task.reference_fixes[0]
    )
    return registry.create(name, steps)


def perform(episode: Episode, agent: Agent, watcher: Watcher | None = None) -> tuple[str, str]:
    """Let an agent work until it returns, fails or has used up its budget: outcome and error text."""
    try:
        agent.run(HandedSession(episode, watcher))
    except BudgetExceeded as reached:
        return BUDGET, str(reached)
    except Exception:  # whatever an agent does wrong is its own outcome, never the evaluation's
        return AGENT_ERROR, traceback.format_exc(limit=-8)
    return DONE, ""


def record_of(run: Run, noise: str | None, outcome: str, error: str, seconds: float, report: Record | None) -> Record:
    """The record of a run; without a report (it was killed) everything counts as failed."""
    failed: dict[str, Any] = {"passed": False, "why": outcome}
    graded = report or {"diagnosis": failed, "mitigation": failed, "trajectory": failed}
    return {
        "task": run.task,
        "agent": run.agent,
        "seed": run.seed,
        "noise": noise,
        "passed": bool(graded.get("passed", False)),
        "diagnosis": graded["diagnosis"],
        "mitigation": graded["mitigation"],
        "trajectory": graded["trajectory"],
        "digest": graded.get("digest", ""),
        "seconds": round(seconds, 3),
        "outcome": outcome,
        "error": error,
        "commands": graded.get("commands", 0),
        "simulated_s": graded.get("simulated_s", 0.0),
    }
