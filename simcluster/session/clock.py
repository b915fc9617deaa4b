"""Clock policies and budgets: what commands cost in simulated time, and how much of it there is.

`stepped` charges every command a fixed time; `manual` charges nothing: time passes in waits alone; `realtime:X` lets
X simulated seconds pass in a second of the operator's. No wall clock is read here: under `realtime` whoever paces the
session (a server) says at which simulated instant a request arrives, and the log keeps it.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from pydantic import Field, field_validator

from simcluster.engine import parse_duration
from simcluster.engine.content import Content

#: What a command is charged as; `free` is what takes no time by itself: a wait, a diagnosis.
Charge = Literal["free", "read", "write", "look"]
_REALTIME = re.compile(r"realtime:(\d{1,6}(?:\.\d{1,6})?)")


class Clock(Content):
    """What commands cost in simulated time (Go durations): charged before they take effect.

    The world stands still while an agent thinks, unless `think` or the policy says otherwise.
    """

    policy: str = "stepped"  # or manual, or realtime:X
    read: str = "0.5s"  # get, describe, logs, top, events ...
    write: str = "1s"  # apply, patch, delete ...
    look: str = "2s"  # exec, a command on a node, an HTTP look
    think: str = "0s"  # charged before every command
    patience: str = "10m"  # after this somebody presses Ctrl-C on a command that has not ended

    @field_validator("policy")
    @classmethod
    def _a_policy(cls, value: str) -> str:
        found = _REALTIME.fullmatch(value)
        if value not in ("stepped", "manual") and not (found and Decimal(found[1]) > 0):
            raise ValueError(f"a clock is stepped, manual or realtime:X with X above zero, not {value!r}")
        return value

    @field_validator("read", "write", "look", "think", "patience")
    @classmethod
    def _a_duration(cls, value: str) -> str:
        if parse_duration(value) < 0:
            raise ValueError(f"time does not run backwards: {value}")
        return value

    @property
    def realtime(self) -> bool:
        """Whether requests say when they arrive."""
        return self.policy.startswith("realtime:")

    @property
    def patience_ns(self) -> int:
        """Simulated nanoseconds after which a command is interrupted."""
        return parse_duration(self.patience)

    def cost_ns(self, charge: Charge) -> int:
        """Simulated nanoseconds of one command."""
        if charge == "free" or self.policy != "stepped":
            return 0
        return parse_duration(getattr(self, charge)) + parse_duration(self.think)

    def simulated_ns(self, wall_ns: int) -> int:
        """Simulated nanoseconds that pass in so many of the operator's; 0 unless the policy is `realtime`."""
        found = _REALTIME.fullmatch(self.policy)
        return int(Decimal(found[1]) * wall_ns) if found else 0


class Budget(Content):
    """How much an agent may use before it is stopped: commands, and simulated time from the page on."""

    commands: int = Field(default=200, ge=1)
    time: str = "1h"

    @field_validator("time")
    @classmethod
    def _a_duration(cls, value: str) -> str:
        if parse_duration(value) <= 0:
            raise ValueError(f"a budget of time is above zero, not {value}")
        return value

    @property
    def time_ns(self) -> int:
        """Simulated nanoseconds from the page on."""
        return parse_duration(self.time)


#: A sandbox has no end.
UNLIMITED = Budget(commands=1_000_000_000, time="1000000h")
