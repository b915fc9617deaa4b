"""Clock policies and budgets: what commands cost in simulated time, and how much of it there is."""

from __future__ import annotations

from pydantic import Field, field_validator

from simcluster.engine import parse_duration
from simcluster.engine.content import Content


class Clock(Content):
    """What commands cost in simulated time (Go durations): charged before they take effect.

    The world stands still while an agent thinks, unless `think` says otherwise.
    """

    read: str = "0.5s"  # get, describe, logs, top, events ...
    write: str = "1s"  # apply, patch, delete ...
    look: str = "2s"  # exec, a command on a node, an HTTP look
    think: str = "0s"  # charged before every command

    @field_validator("read", "write", "look", "think")
    @classmethod
    def _a_duration(cls, value: str) -> str:
        parse_duration(value)
        return value

    def cost_ns(self, kind: str) -> int:
        """Simulated nanoseconds of one command of a kind: `read`, `write` or `look`."""
        return parse_duration(getattr(self, kind)) + parse_duration(self.think)


class Budget(Content):
    """How much an agent may use before it is stopped: commands, and simulated time from the page on."""

    commands: int = Field(default=200, ge=1)
    time: str = "1h"

    @field_validator("time")
    @classmethod
    def _a_duration(cls, value: str) -> str:
        parse_duration(value)
        return value

    @property
    def time_ns(self) -> int:
        """Simulated nanoseconds from the page on."""
        return parse_duration(self.time)
