"""What a command costs in simulated time, and how much of it an agent may use."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from simcluster.engine import SECOND, parse_duration


class ClockPolicy(BaseModel):
    """The `clock:` block of a task: stepped time, charged before the command takes effect.

    The world stands still while an agent thinks, unless `think` says otherwise.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    read: str = "0.5s"  # get, describe, logs, top, events ...
    write: str = "1s"  # apply, patch, delete ...
    look: str = "2s"  # exec, a command on a node, an HTTP look
    think: str = "0s"  # charged before every command

    def cost_ns(self, kind: str) -> int:
        """Simulated nanoseconds of one command of a kind: `read`, `write` or `look`."""
        return parse_duration(getattr(self, kind)) + parse_duration(self.think)


class Budget(BaseModel):
    """How much an agent may use before it is stopped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commands: int = Field(default=200, ge=1)
    time: str = "1h"  # simulated, from the page on

    @property
    def time_ns(self) -> int:
        """Simulated nanoseconds from the page on."""
        return parse_duration(self.time)


#: A sandbox has no end.
UNLIMITED = Budget(commands=1_000_000_000, time="1000000h")

#: The longest single wait that is accepted; longer ones are typing errors more often than wishes.
WAIT_LIMIT_NS = 24 * 3600 * SECOND
