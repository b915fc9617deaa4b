"""Incidents for Inspect (`inspect_ai`): a task, the sandbox in which its tools run, a scorer.

A sample is an incident. Its sandbox is the operator's desk: `bash` runs there, with kubectl, ssh, curl and files of its
own, and every command takes simulated time. What an agent submits in the end is its diagnosis; the score is the grade
of the episode. Inspect finds all of it by the entry point `inspect_ai`; nothing else imports this.
"""

from __future__ import annotations

import base64
import shlex
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.agent import AgentSubmit, react
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import bash
from inspect_ai.util import ExecResult, SandboxEnvironment, sandbox, sandboxenv

from simcluster import tasks as catalog
from simcluster.engine.content import Library
from simcluster.eval.chat.instructions import prompt
from simcluster.eval.episode import Episode, start
from simcluster.surface.protocols import BudgetExceeded, Outcome

#: Exit status of `timeout`, and of a command that a terminal's user interrupts.
_TIMED_OUT, _CUT = 124, 130
_ERRORS = {
    "No such file or directory": FileNotFoundError,
    "Is a directory": IsADirectoryError,
    "Permission denied": PermissionError,
}
#: Messages of a sample, both sides; a run of a person takes about twenty commands.
MESSAGES = 120


@sandboxenv(name="simcluster")
class Desk(SandboxEnvironment):  # type: ignore[misc]
    """The desk of one incident.

    Attributes:
        episode: the incident, from its page on.
        at_work: whether the agent has been paged. Until then what Inspect itself asks of a sandbox (who it is, what it
            can do) is asked of a copy, and leaves no trace.
    """

    def __init__(self, episode: Episode, *, at_work: bool = True) -> None:
        super().__init__()
        self.episode = episode
        self.at_work = at_work

    @classmethod
    async def sample_init(cls, task_name: str, config: Any, metadata: dict[str, str]) -> dict[str, SandboxEnvironment]:
        """Let the incident happen up to its page: `task`, `seed`, `noise` and `content` of the sample's metadata."""
        noise, library = metadata.get("noise") or None, _library(metadata.get("content", ""))
        return {"default": cls(start(metadata["task"], int(metadata.get("seed", 0)), noise, library), at_work=False)}

    @classmethod
    async def sample_cleanup(
        cls, task_name: str, config: Any, environments: dict[str, SandboxEnvironment], interrupted: bool
    ) -> None:
        """Nothing outlives a sample."""

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command at the desk, as root; `timeout` counts simulated seconds.

        Raises:
            TimeoutError: it has not ended by then.
        """
        line = cmd[-1] if cmd[:-1] in (["bash", "--login", "-c"], ["bash", "-c"]) else shlex.join(cmd)
        if env:
            line = "".join(f"export {name}={shlex.quote(value)}; " for name, value in env.items()) + line
        if cwd:
            line = f"cd {shlex.quote(cwd)} && {line}"
        if timeout is not None:
            line = f"timeout {timeout} bash -c {shlex.quote(line)}"
        stdin = input.decode(errors="replace") if isinstance(input, bytes) else input or ""
        done = self._ran(line, stdin)
        if timeout is not None and done.exit_code == _TIMED_OUT:
            raise TimeoutError(f"the command did not end within {timeout} simulated seconds")
        return ExecResult(done.exit_code == 0, done.exit_code, done.stdout, done.stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file of the desk; its folder is made. Raises what a file system would."""
        data = contents.encode() if isinstance(contents, str) else contents
        name = shlex.quote(file)
        folder = shlex.quote(file.rpartition("/")[0] or ".")
        _checked(file, self._ran(f"mkdir -p {folder} && base64 -d > {name}", base64.b64encode(data).decode()))

    async def read_file(self, file: str, text: bool = True) -> Any:
        """Read a file of the desk. Raises what a file system would."""
        found = _checked(file, self._ran(f"base64 -w0 {shlex.quote(file)}"))
        data = base64.b64decode(found.stdout)
        return data.decode() if text else data

    def _ran(self, line: str, stdin: str = "") -> Outcome:
        try:
            return (self.episode if self.at_work else self.episode.fork()).sh(line, stdin)
        except BudgetExceeded as reached:
            return Outcome("", f"{reached}\n", _CUT)


def _checked(file: str, result: Outcome) -> Outcome:
    if result.exit_code == 0:
        return result
    kind = next((error for words, error in _ERRORS.items() if words in result.stderr), OSError)
    raise kind(f"{file}: {result.stderr.strip()}")


def _library(content: str) -> Library:
    return Library((Path(content),)) if content else Library()


def episode_of(environment: SandboxEnvironment) -> Episode:
    """The incident behind a sandbox."""
    found: Episode = environment.as_type(Desk).episode
    return found


@solver
def paged() -> Solver:
    """The page takes the place of the sample's input."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        desk = sandbox().as_type(Desk)
        desk.at_work = True
        state.user_prompt.text = desk.episode.alert
        return state

    return solve


@scorer(
    metrics={"passed": [mean(), stderr()], "diagnosis": [mean(), stderr()], "mitigation": [mean(), stderr()]},
)
def grade() -> Scorer:
    """The grade of the episode. Who has not diagnosed at the desk has done so by the text that was submitted."""

    async def score(state: TaskState, target: Target) -> Score:
        episode = episode_of(sandbox())
        if episode.submission is None and state.output.completion:
            episode.diagnose(state.output.completion)
        report = episode.finish()
        found = report.to_dict()
        value = {name: int(bool(found[name]["passed"])) for name in ("diagnosis", "mitigation")}
        kept = {name: found[name] for name in ("digest", "commands", "simulated_s", "says_solved")}
        return Score(
            value={"passed": int(report.passed), **value},
            answer=str(episode.submission or ""),
            explanation=report.explain(),
            metadata=kept,
        )

    return score


@task
def incidents(
    tasks: str = "",
    suite: str = "lite",
    seeds: int = 1,
    noise: str = "",
    content: str = "",
    agent: Solver | None = None,
) -> Task:
    """Incidents of the catalogue.

    Args:
        tasks: ids, or paths of task files, with commas between them; empty: those of the suite.
        suite: of `simcluster list suites`.
        seeds: seeds 0 to N-1 of each.
        noise: a profile; empty: that of the task.
        content: a folder of tasks, faults, noises and applications besides those that are installed.
        agent: who solves; by default the stock ReAct agent with `bash`.

    Raises:
        UnknownName: there is no such task or suite.
    """
    library = _library(content)
    wanted = [one.strip() for one in tasks.split(",") if one.strip()] or list(catalog.suite(suite, library))
    samples = [
        Sample(
            input="You are paged.",
            id=f"{catalog.load(one, library).id}.{seed}",
            metadata={"task": one, "seed": str(seed), "noise": noise, "content": content},
        )
        for seed in range(seeds)
        for one in wanted
    ]
    submit = AgentSubmit(description="Submit your diagnosis, when the incident is mended.", answer_only=True)
    solves = agent or react(prompt=prompt("desk"), tools=[bash()], submit=submit)
    return Task(
        dataset=samples, setup=paged(), solver=solves, scorer=grade(), sandbox="simcluster", message_limit=MESSAGES
    )
