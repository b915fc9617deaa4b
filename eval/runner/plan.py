"""What an evaluation runs: tasks, agents and seeds, as a flat list in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from simcluster import tasks
from simcluster.agents import registry
from simcluster.engine.content import Library
from simcluster.noise import plan as noise_profiles

Record = dict[str, Any]


class Run(NamedTuple):
    """One agent on one task with one seed. `task` is an id or the path of a task file."""

    task: str
    agent: str
    seed: int

    @property
    def name(self) -> str:
        """Stem of the run's files."""
        return f"{Path(self.task).stem}.{self.agent.replace(':', '-').replace('/', '-')}.{self.seed}"

    @property
    def start(self) -> tuple[str, int]:
        """Runs with the same start share the work of getting there."""
        return self.task, self.seed


@dataclass(frozen=True)
class Plan:
    """An evaluation.

    Attributes:
        task_ids: ids or paths of task files.
        agents: registered names or `module:Class`.
        seeds: one run for each.
        noise: id of a profile, or None.
        content: extra folders of content.
        wall_limit_s: wall-clock seconds after which a run is given up.
    """

    task_ids: tuple[str, ...]
    agents: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    noise: str | None = None
    content: tuple[str, ...] = ()
    wall_limit_s: float = 600.0

    def check(self) -> None:
        """Find mistakes before anything runs.

        Raises:
            UnknownName: a task, agent or noise that does not exist; the nearest are listed.
            ContentError: a content file is wrong.
        """
        for task_id in self.task_ids:
            tasks.load(task_id, self.library)
        for agent in self.agents:
            registry.check(agent)
        if self.noise is not None:
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
            "tasks": list(self.task_ids),
            "agents": list(self.agents),
            "seeds": list(self.seeds),
            "noise": self.noise,
            "content": list(self.content),
            "wall_limit_s": self.wall_limit_s,
        }
