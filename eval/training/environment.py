"""One incident as a Gymnasium environment: lines of text in, terminals out.

`reset(seed=…)` is the instant of the page; the same seed and the same actions give the same observations, rewards and
digest. What a world needs before its page is made once in a process and copied. `save` and `restore` keep and take back
a state: both futures are real.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces

from simcluster.engine.content import Library
from simcluster.eval.episode import Episode, start
from simcluster.eval.oracles.mitigation import Mitigation
from simcluster.eval.training.actions import TOO_LONG, TOOLS, WRONG, Outcome, perform
from simcluster.eval.training.rewards import Rewards

#: Characters of an observation's text: what is longer is cut in the middle, as a pager would not.
OUTPUT_MAX, ACTION_MAX, ALERT_MAX = 16_384, 4_096, 4_096
_CUT = "\n[...]\n"
CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " \n\t"
_KNOWN = frozenset(CHARACTERS)
Observation = dict[str, Any]


class IncidentEnv(gymnasium.Env[Observation, Any]):
    """An incident.

    Args:
        task: an id of `simcluster list tasks`, or a task file.
        noise: a profile; None is that of the task.
        actions: `text`, a line as in `actions`; or `structured`, a dictionary of a tool's number and its text.
        grade: how the end is judged: `checks` asks what the task accepts (milliseconds), `examination` is the grade of
            `simcluster eval` (seconds).
        render_mode: `ansi` returns the terminal's text.
        content: folders of further content.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012  # Gymnasium's own attribute

    def __init__(
        self,
        task: str,
        noise: str | None = None,
        actions: Literal["text", "structured"] = "text",
        grade: Literal["checks", "examination"] = "checks",
        render_mode: str | None = None,
        content: Sequence[str | Path] = (),
    ) -> None:
        if actions not in ("text", "structured"):
            raise ValueError(f"actions are 'text' or 'structured', not {actions!r}")
        if grade not in ("checks", "examination"):
            raise ValueError(f"grade is 'checks' or 'examination', not {grade!r}")
        self.task, self.noise, self.grade, self.render_mode = task, noise, grade, render_mode
        self.library = Library(tuple(map(Path, content)))
        line = spaces.Text(ACTION_MAX, min_length=0, charset=CHARACTERS)
        structured = spaces.Dict({"tool": spaces.Discrete(len(TOOLS)), "text": line})
        self.action_space = line if actions == "text" else structured
        self.observation_space = spaces.Dict(
            {
                "alert": spaces.Text(ALERT_MAX, min_length=0, charset=CHARACTERS),
                "output": spaces.Text(OUTPUT_MAX, min_length=0, charset=CHARACTERS),
                "exit_code": spaces.Discrete(256),
                "seconds": spaces.Discrete(1 << 31),
                "commands_left": spaces.Discrete(1 << 31),
            }
        )
        self.episode: Episode | None = None
        self._rewards: Rewards | None = None
        self._last = Outcome("", 0)
        self._diagnosed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """The instant of the page. Without a seed the incident is drawn, a new one each time.

        Args:
            options: `task` and `noise` that take the place of the environment's own.

        Raises:
            UnknownName, ContentError: there is no such task or noise, or it is wrong.
        """
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(1 << 31)) if seed is None else seed
        given = options or {}
        self.episode = start(given.get("task", self.task), drawn, given.get("noise", self.noise), self.library)
        self._rewards = Rewards(self.episode.guide())
        self._last, self._diagnosed = Outcome("", 0), False
        return self._observation(), {"task": self.episode.task.id, "seed": drawn}

    def step(self, action: Any) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Do one action. What is wrong with it is told as a terminal would; it costs what an invalid action costs.

        Raises:
            AssertionError: before `reset`, or after the end.
        """
        episode, rewards = self.episode, self._rewards
        assert episode is not None, "reset before the first step"
        assert rewards is not None, "the episode is over: reset"
        before = episode.submission
        self._last = outcome = self._performed(episode, action)
        if episode.submission is not before:
            self._diagnosed = episode.diagnosed().passed
        info: dict[str, Any] = {"digest": episode.digest}
        mended = self._mended(episode) if outcome.over else False
        ending = ("budget" if outcome.truncated else "done") if outcome.over else ""
        reward = rewards.step(list(episode.transcript.turns), diagnosed=self._diagnosed, mended=mended, outcome=ending)
        info["reward_components"] = rewards.parts
        if outcome.over:
            info |= {"diagnosis": self._diagnosed, "mitigation": mended, "passed": self._diagnosed and mended}
            self._rewards = None
        return self._observation(), reward, outcome.over and not outcome.truncated, outcome.truncated, info

    def save(self) -> tuple[Any, ...]:
        """The state as it is, for `restore`; it does not change with what is done afterwards."""
        assert self.episode is not None, "reset first"
        account = None if self._rewards is None else (self._rewards.guide, self._rewards.raw, dict(self._rewards.parts))
        return self.episode.fork(), account, self._last, self._diagnosed

    def restore(self, state: tuple[Any, ...]) -> Observation:
        """Go back, or across, to a state that was saved; any number of times."""
        episode, account, self._last, self._diagnosed = state
        self.episode = episode.fork()
        self._rewards = None
        if account is not None:
            self._rewards = Rewards(account[0])
            self._rewards.raw, self._rewards.parts = account[1], dict(account[2])
        return self._observation()

    def render(self) -> str | None:
        """What the terminal shows, in the mode `ansi`."""
        return self._last.output if self.render_mode == "ansi" else None

    def _performed(self, episode: Episode, action: Any) -> Outcome:
        """Do an action of either kind; what is none is answered as a shell would."""
        if isinstance(action, Mapping):
            tool, text = action.get("tool"), action.get("text")
            number = int(tool) if isinstance(tool, int | np.integer) else -1
            if not 0 <= number < len(TOOLS) or not isinstance(text, str):
                return Outcome(f"no action: a tool from 0 to {len(TOOLS) - 1} and a text are needed\n", WRONG)
            action = f"{TOOLS[number]} {text}"
        if not isinstance(action, str):
            return Outcome(f"no action: a line of text is needed, not a {type(action).__name__}\n", WRONG)
        if len(action) > ACTION_MAX + len(max(TOOLS, key=len)) + 1:
            return Outcome(f"{action[:32]}...: Argument list too long\n", TOO_LONG)
        return perform(episode, action)

    def _mended(self, episode: Episode) -> bool:
        if self.grade == "examination":
            return episode.finish().mitigation.passed
        judged = episode.fork()
        found = Mitigation(judged.library).judge(judged.world, judged.task, judged.baseline, judged.incident.record)
        return all(one.passed for one in found.results)

    def _observation(self) -> Observation:
        assert self.episode is not None
        inbox = self.episode.inbox
        return {
            "alert": _shown(self.episode.alert, ALERT_MAX),
            "output": _shown(self._last.output, OUTPUT_MAX),
            "exit_code": self._last.exit_code % 256,
            "seconds": max(0, self.episode.world.now - inbox.opened_ns) // 10**9,
            "commands_left": max(0, inbox.budget.commands - inbox.used),
        }


def _shown(text: str, most: int) -> str:
    """A text in the characters of the space, at most so long."""
    if len(text) > most:
        half = (most - len(_CUT)) // 2
        text = f"{text[:half]}{_CUT}{text[-half:]}"
    return text if _KNOWN.issuperset(text) else "".join(one if one in _KNOWN else "?" for one in text)
