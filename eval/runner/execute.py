"""One run, from the page to the grade. An agent's mistakes become the outcome of its run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from simcluster.agents import registry
from simcluster.agents.expert import ReferenceStep
from simcluster.agents.protocol import Agent
from simcluster.eval.chat.agent import spent
from simcluster.eval.chat.endpoint import LASTING
from simcluster.eval.chat.options import is_model, model_of
from simcluster.eval.episode import Episode, start
from simcluster.eval.isolation.agenthost import AgentHost, Job
from simcluster.eval.isolation.conversation import Sink, Watcher
from simcluster.eval.isolation.ending import ENDPOINT, Ending
from simcluster.eval.process import measured, transcript
from simcluster.eval.runner.past import others
from simcluster.eval.runner.plan import FORMAT, Plan, Record, Run
from simcluster.eval.serving import command
from simcluster.eval.trajectory.recorder import write_jsonl

#: Bytes of what an agent prints that are kept with its run.
OUTPUT_MAX = 2**20
#: How often a run is made anew whose model's endpoint gave no answer.
ENDPOINT_REPEATS = 1
#: The ending of files in which the exchanges with a model stand.
TALK = ".model.jsonl"


def execute(run: Run, plan: Plan, host: AgentHost, folder: Path) -> Record:
    """Run an agent on a task and grade it.

    Args:
        run: what to run.
        plan: its noise, content and limits.
        host: forks the agent.
        folder: where the replay log, the trajectory and what the agent printed are written.

    Returns:
        The run record: see `record_of`.
    """
    began_s = time.perf_counter()
    for _ in range(ENDPOINT_REPEATS + 1):
        episode = start(run.task, run.seed, plan.noise, plan.library, plan.age, plan.profile)
        printed = bytearray()
        sink = partial(keep, printed)
        ending = work(run.agent, episode, plan, host, sink, model=handed(run, plan, folder))
        if not repeated(ending):
            break
    if plan.counterfactuals:
        episode.counterfactuals()
    report = episode.finish().to_dict()
    try:
        write_files(folder, run, episode, ending.outcome)
        if printed:
            (folder / f"{run.name}.output.txt").write_bytes(printed)
    except OSError as problem:  # a full disk takes the files, not the grade
        ending = ending._replace(error=f"{ending.error}\nthe files of this run could not be written: {problem}".strip())
    record = record_of(run, plan.noise, ending, time.perf_counter() - began_s, report)
    if is_model(run.agent):
        record["model"] = spent(folder / f"{run.name}{TALK}", plan.model.prices)
    if plan.judge is not None:
        record = plan.judge.judged(record, episode.submission, episode.task)
    return record | {"process": process_of(record, episode.guide(), list(episode.transcript.turns))}


def repeated(ending: Ending) -> bool:
    """Whether a run is made anew: its model's endpoint gave no answer, for a reason that may pass."""
    return ending.outcome == ENDPOINT and ending.error.partition(":")[0] not in LASTING


def handed(run: Run, plan: Plan, folder: Path) -> Record:
    """What a model's agent is handed; its transcript begins anew. Nothing for other agents."""
    if not is_model(run.agent):
        return {}
    name = f"{run.name}{TALK}"
    (folder / name).write_bytes(b"")
    replies = str(Path(plan.model.replies, "runs", name)) if plan.model.replies else ""
    known = others(plan.model.past, Path(run.task).stem) if plan.model.past else []
    wire = {"wire": plan.model.to_dict(), "transcript": str(folder / name), "replies": replies}
    return {"model": model_of(run.agent), "past": known, **wire}


def process_of(record: Record, header: dict[str, Any], turns: list[transcript.Turn]) -> Record:
    """Process measures of a run: see `eval.process.measures`."""
    grades = {name: bool(record[name]["passed"]) for name in ("diagnosis", "mitigation")}
    return measured(header, turns, grades | {"outcome": record["outcome"]})


def work(
    agent: str,
    episode: Episode,
    plan: Plan,
    host: AgentHost,
    sink: Sink,
    watcher: Watcher | None = None,
    model: Mapping[str, Any] | None = None,
) -> Ending:
    """Let an agent work on an episode, in processes of its own, within the limits of a plan.

    The expert is handed the first reference fix, not what it is for; a command (`cmd: …`) a served cluster.

    Args:
        sink: is given what the agent prints.
        watcher: is told of every command, but not of what goes through sockets.
        model: of a model (`llm: …`), how it is asked: see `handed`.
    """
    steps = reference_steps(episode) if agent == "expert" else ()
    job = Job(agent, steps, plan.wall_limit_s, plan.memory_mib * 2**20)
    if is_model(agent):
        return host.run(job._replace(model=model or {}), episode, sink, watcher)
    if not command.is_command(agent):
        return host.run(job, episode, sink, watcher)
    with command.served(episode, plan.wall_limit_s) as served:
        words = tuple(command.words_of(agent))
        return served.outcome(
            host.run(job._replace(command=words, environment=served.environment, over=served.over), episode, sink)
        )


def agent_for(name: str, episode: Episode) -> Agent:
    """A fresh agent of the present process, for whoever runs it without a host: `agent_for(name, e).run(e)`."""
    return registry.create(name, reference_steps(episode))


def reference_steps(episode: Episode) -> tuple[ReferenceStep, ...]:
    """The first reference fix of the episode's task; nothing if there is none."""
    steps = next(iter(episode.task.reference_fixes), ())
    return tuple(ReferenceStep(step.kubectl, step.stdin, step.node, step.sh, step.wait) for step in steps)


def write_files(folder: Path, run: Run, episode: Episode, outcome: str) -> None:
    """Write the replay log, the transcript and the trajectory of a graded episode. Raises OSError."""
    episode.write_log(folder / f"{run.name}.log.jsonl", outcome, agent=run.agent)
    transcript.write_jsonl(folder / f"{run.name}.transcript.jsonl", episode.guide(), episode.transcript.turns)
    recorder = episode.recorder
    write_jsonl(folder / f"{run.name}.trajectory.jsonl", recorder.header(), recorder.records)


def keep(printed: bytearray, data: bytes) -> None:
    """Add what an agent has printed, up to `OUTPUT_MAX`."""
    if len(printed) <= OUTPUT_MAX:
        printed += data
        if len(printed) > OUTPUT_MAX:
            printed[OUTPUT_MAX:] = b"\n[the rest was dropped]\n"


def record_of(run: Run, noise: str | None, ending: Ending, seconds: float, report: Record | None) -> Record:
    """The record of a run; without a report (its worker is gone) everything counts as failed."""
    failed: dict[str, Any] = {"passed": False, "why": ending.outcome}
    graded = report or {"diagnosis": failed, "mitigation": failed, "trajectory": failed}
    return {
        "format": FORMAT,
        "task": run.task,
        "agent": run.agent,
        "seed": run.seed,
        "noise": noise,
        "passed": bool(graded.get("passed", False)),
        "diagnosis": graded["diagnosis"],
        "mitigation": graded["mitigation"],
        "trajectory": graded["trajectory"],
        "residue": graded.get("residue", failed),
        "says_solved": graded.get("says_solved"),
        "digest": graded.get("digest", ""),
        "seconds": round(seconds, 3),
        "outcome": ending.outcome,
        "error": ending.error,
        "commands": graded.get("commands", 0),
        "simulated_s": graded.get("simulated_s", 0.0),
        **({"counterfactuals": graded["counterfactuals"]} if "counterfactuals" in graded else {}),
        "process": None,
    }
