"""One endpoint for chat completions: requests, retries, tokens and what they cost."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Where the key is looked for, in this order.
KEYS = ("SIMCLUSTER_JUDGE_KEY", "OPENAI_API_KEY")
#: Answers that may be others in a moment.
_AGAIN = frozenset([408, 409, 425, 429, 500, 502, 503, 504])
#: Seconds before the first further try; each later one waits twice as long.
_PAUSE_S = 1.0
_ERROR_MAX = 400


class EndpointError(Exception):
    """The endpoint gave no answer that can be used."""

    exit_code = 1  # of the command line: failed


@dataclass
class Usage:
    """What was asked so far.

    Attributes:
        requests: sent, further tries among them.
        prompt, completion: tokens, as the endpoint counts them.
    """

    requests: int = 0
    prompt: int = 0
    completion: int = 0


@dataclass
class Endpoint:
    """Chat completions as many servers speak them.

    Args:
        model: its name there.
        url: up to `/chat/completions`, such as `http://127.0.0.1:8000/v1`.
        key: sent as a bearer token; by default that of `SIMCLUSTER_JUDGE_KEY` or `OPENAI_API_KEY`.
        tries: of a request.
        timeout_s: of a try.
        prices: US dollars for a million tokens of prompt and of completion.
        sleep: waits between tries.
    """

    model: str
    url: str
    key: str = field(
        default_factory=lambda: next((os.environ[name] for name in KEYS if os.environ.get(name)), ""), repr=False
    )
    tries: int = 4
    timeout_s: float = 60.0
    prices: tuple[float, float] = (0.0, 0.0)
    sleep: Callable[[float], None] = time.sleep
    usage: Usage = field(default_factory=Usage)

    @property
    def cost(self) -> float:
        """US dollars so far."""
        return (self.usage.prompt * self.prices[0] + self.usage.completion * self.prices[1]) / 1e6

    def complete(self, messages: Sequence[dict[str, str]]) -> str:
        """The text of the first choice, at temperature 0.

        Raises:
            EndpointError: refused, or no usable answer after all tries.
        """
        body = {"model": self.model, "messages": list(messages), "temperature": 0}
        why = ""
        for attempt in range(self.tries):
            if attempt:
                self.sleep(_PAUSE_S * 2 ** (attempt - 1))
            try:
                return self._once(body)
            except urllib.error.HTTPError as problem:
                why = f"{problem.code} {problem.read(_ERROR_MAX).decode(errors='replace')}".strip()
                if problem.code not in _AGAIN:
                    break
            except (OSError, ValueError, KeyError, IndexError, TypeError) as problem:
                why = f"{type(problem).__name__}: {problem}"
        raise EndpointError(f"{self.url} gave no answer for {self.model}: {why}")

    def _once(self, body: dict[str, Any]) -> str:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        self.usage.requests += 1
        with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
            found = json.loads(answer.read())
        used = found.get("usage") or {}
        self.usage.prompt += int(used.get("prompt_tokens", 0))
        self.usage.completion += int(used.get("completion_tokens", 0))
        text = found["choices"][0]["message"]["content"]
        if not isinstance(text, str):
            raise ValueError("the answer is no text")
        return text
