"""How a model works as an agent: which, where, and by what policies. Plain data that goes over the wire."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: What stands in front of the name of a model.
PREFIX = "llm:"
#: Where an address is looked for.
URL = "OPENAI_BASE_URL"
STRATEGIES = ("bare", "few-shot", "undo")


def is_model(agent: str) -> bool:
    """Whether an agent is a model."""
    return agent.startswith(PREFIX)


def model_of(agent: str) -> str:
    """The model's name at its endpoint."""
    return agent.removeprefix(PREFIX).strip()


@dataclass(frozen=True)
class ModelOptions:
    """Policies of every model of an evaluation.

    Attributes:
        url: up to `/chat/completions`.
        prices: US dollars for a million tokens of prompt and of completion.
        context: tokens that a request may have; see `eval.chat.context`.
        think_rate: tokens of completion that take a simulated second before the commands they ask for; 0: none.
        strategy: one of `STRATEGIES`.
        runbooks: a folder of texts (`*.md`, `*.txt`); those nearest to the page are shown with it. Empty: none.
        past: a run directory; the courses of runs on other tasks that passed and whose pages are nearest are shown.
            Empty: none.
        tools: whether tool calls are asked for; otherwise commands are read from plain text. An endpoint that refuses
            tools is spoken to in plain text, too.
        replies: a run directory whose recorded replies answer instead of the endpoint. Empty: the endpoint.
        timeout_s: wall-clock seconds of one try of a request.
        tries: of a request.
    """

    url: str = ""
    prices: tuple[float, float] = (0.0, 0.0)
    context: int = 32_000
    think_rate: float = 0.0
    strategy: str = "bare"
    runbooks: str = ""
    past: str = ""
    tools: bool = True
    replies: str = ""
    timeout_s: float = 120.0
    tries: int = 5

    @property
    def address(self) -> str:
        """Where the endpoint is; empty if nobody says so."""
        return self.url or os.environ.get(URL, "")

    def lack(self, agent: str) -> str:
        """Why a model cannot be asked so, as text; empty if it can."""
        if not model_of(agent):
            return f"an agent is {PREFIX}MODEL, not {agent!r}"
        if self.replies:
            return "" if Path(self.replies, "runs").is_dir() else f"{self.replies} is no run directory"
        if not self.address.startswith(("http://", "https://")):
            return f"where does it answer? Give --base-url, an http address up to /chat/completions, or {URL}"
        if self.runbooks and not Path(self.runbooks).is_dir():
            return f"{self.runbooks} is no folder of runbooks"
        if self.past and not Path(self.past, "runs").is_dir():
            return f"{self.past} is no run directory"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {**asdict(self), "url": self.address, "prices": list(self.prices)}
