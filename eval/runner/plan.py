"""What an evaluation runs: tasks, agents and seeds, as a flat list in a fixed order."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from simcluster import tasks
from simcluster.agents import registry
from simcluster.engine.content import Library
from simcluster.eval.chat.options import ModelOptions, is_model
from simcluster.eval.isolation.agenthost import missing
from simcluster.eval.llm import SecondJudge
from simcluster.eval.serving import command
from simcluster.noise import plan as noise_profiles
from simcluster.world.profile import Profile

Record = dict[str, Any]
#: The version of records and plans on disk: `results.schema.json`. A change that readers would stumble over raises it.
FORMAT = 1


class PlanError(Exception):
    """An evaluation that cannot be run as it is asked for."""

    exit_code = 2  # of the command line: a usage error


def _file_name(agent: str) -> str:
    """An agent in names of files: commands are long and hold anything."""
    if not command.is_command(agent):
        return agent.replace(":", "-").replace("/", "-")
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", agent).strip("-")[:40]
    return f"{plain}-{hashlib.blake2b(agent.encode(), digest_size=4).hexdigest()}"


class Run(NamedTuple):
    """One agent on one task with one seed. `task` is an id or the path of a task file."""

    task: str
    agent: str
    seed: int

    @property
    def name(self) -> str:
        """Stem of the run's files."""
        return f"{Path(self.task).stem}.{_file_name(self.agent)}.{self.seed}"

    @property
    def start(self) -> tuple[str, int]:
        """Runs with the same start share the work of getting there."""
        return self.task, self.seed


@dataclass(frozen=True)
class Plan:
    """An evaluation.

    Attributes:
        task_ids: ids or paths of task files.
        agents: registered names, `module:Class`, `cmd: COMMAND` or `llm:MODEL`.
        seeds: one run for each.
        noise: id of a profile, or None.
        content: extra folders of content.
        wall_limit_s: wall-clock seconds that an agent may work on a run.
        memory_mib: MiB that each process of an agent may allocate; 0 is no limit.
        judge: a model that is asked about each diagnosis, too.
        counterfactuals: whether each run is compared with what would have become of it under other hands.
        model: how models (`llm:MODEL`) are asked.
        age: for how long the clusters have lived; None is as the tasks say.
        profile: figures of the clusters; None is as the tasks say.
    """

    task_ids: tuple[str, ...]
    agents: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    noise: str | None = None
    content: tuple[str, ...] = ()
    wall_limit_s: float = 600.0
    memory_mib: int = 4096
    judge: SecondJudge | None = None
    counterfactuals: bool = False
    age: str | None = None
    profile: Profile | None = None
    model: ModelOptions = field(default_factory=ModelOptions)

    def check(self) -> None:
        """Find mistakes before anything runs.

        Raises:
            UnknownName: a task, agent or noise that does not exist; the nearest are listed.
            ContentError: a content file is wrong.
            PlanError: an agent's module or class does not exist, or a limit is none.
        """
        if not 0 < self.wall_limit_s < math.inf:
            raise PlanError(f"the wall limit has to be a number of seconds above zero, not {self.wall_limit_s:g}")
        if self.memory_mib < 0:
            raise PlanError(f"the memory limit has to be a number of MiB, not {self.memory_mib}")
        for task_id in self.task_ids:
            tasks.load(task_id, self.library)
        for agent in self.agents:
            if command.is_command(agent):
                if lack := command.lack_of(agent):
                    raise PlanError(f"agent {agent}: {lack}")
                continue
            if is_model(agent):
                if lack := self.model.lack(agent):
                    raise PlanError(f"agent {agent}: {lack}")
                continue
            registry.check(agent)
            location = registry.location(agent)
            if location and (lack := missing(location)):
                raise PlanError(f"agent {agent}: {lack}")
        if self.noise not in (None, noise_profiles.NONE):
            noise_profiles.load(self.noise, self.library)

    @property
    def library(self) -> Library:
        """Where content is looked for."""
        return Library(tuple(Path(folder) for folder in self.content))

    def runs(self) -> list[Run]:
        """Every run; those that share a start stand together."""
        return [Run(task, agent, seed) for seed in self.seeds for task in self.task_ids for agent in self.agents]

    def to_dict(self) -> Record:
        """The wire form, for the run directory."""
        return {
            "format": FORMAT,
            "tasks": list(self.task_ids),
            "agents": list(self.agents),
            "seeds": list(self.seeds),
            "noise": self.noise,
            "age": self.age,
            "parameters": None if self.profile is None else self.profile.parameters,
            "content": list(self.content),
            "wall_limit_s": self.wall_limit_s,
            "memory_mib": self.memory_mib,
            "judge": None if self.judge is None else self.judge.to_dict(),
            **({"model": self.model.to_dict()} if any(map(is_model, self.agents)) else {}),
        }
