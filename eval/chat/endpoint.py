"""One endpoint for chat completions: requests, retries, tokens and what they cost."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple

#: Where the key is looked for, in this order.
KEYS = ("SIMCLUSTER_JUDGE_KEY", "OPENAI_API_KEY")
#: Answers that may be others in a moment.
_AGAIN = frozenset([408, 409, 425, 429, 500, 502, 503, 504])
#: Seconds before the first further try; each later one waits twice as long.
_PAUSE_S = 1.0
#: Seconds that a `Retry-After` is heeded.
_WAIT_MAX_S = 60.0
_ERROR_MAX = 400
#: What keeps an endpoint from answering. Of those in `LASTING` another try is not worth its time.
KINDS = (
    "unauthorized", "no such model", "out of credit", "rate limit", "bad request", "server error", "timeout",
    "unreachable", "garbled", "recording",
)  # fmt: skip
LASTING = frozenset(["unauthorized", "no such model", "out of credit", "recording"])
_BY_STATUS = {0: "unreachable", 401: "unauthorized", 402: "out of credit", 403: "unauthorized", 404: "no such model"}
_BY_STATUS |= {408: "timeout", 429: "rate limit", 504: "timeout"}
#: The longest answer that is read, bytes.
_ANSWER_MAX = 16 * 2**20
_CHUNK = 1 << 16
#: What a try ends with when nothing comes, or nothing that can be used.
_UNUSABLE = (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class EndpointError(Exception):
    """The endpoint gave no answer that can be used.

    Args:
        text: what happened; the message is `KIND: TEXT`.
        status: of HTTP, of its last answer; 0 if there was none.
        kind: one of `KINDS`; by default what the status says.
    """

    exit_code = 1  # of the command line: failed

    def __init__(self, text: str, status: int = 0, kind: str = "") -> None:
        self.kind = kind or _BY_STATUS.get(status, "server error" if status >= 500 else "bad request")
        super().__init__(f"{self.kind}: {text}")
        self.status = status


class Reply(NamedTuple):
    """One answer: the message of its first choice, and the tokens that the endpoint counted for it."""

    message: dict[str, Any]
    prompt: int
    completion: int


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
        return str(self._tried({"messages": list(messages)}, _with_text).message["content"])

    def chat(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = ()) -> Reply:
        """The first choice, at temperature 0, which may call the tools. Raises EndpointError, as `complete`."""
        body: dict[str, Any] = {"messages": list(messages)}
        if tools:
            body["tools"] = list(tools)
        return self._tried(body, _with_words)

    def _tried(self, body: dict[str, Any], usable: Callable[[Reply], Reply]) -> Reply:
        body |= {"model": self.model, "temperature": 0}
        why, status, kind, pause_s = "", 0, "", _PAUSE_S
        for attempt in range(self.tries):
            if attempt:
                self.sleep(pause_s)
                pause_s = _PAUSE_S * 2**attempt
            try:
                return usable(self._once(body))
            except urllib.error.HTTPError as problem:
                why, status, kind = f"{problem.code} {_words_of(problem)}".strip(), problem.code, ""
                if problem.code not in _AGAIN:
                    break
                pause_s = max(pause_s, _asked_for(problem.headers.get("Retry-After")))
            except _UNUSABLE as problem:
                why, status, kind = f"{type(problem).__name__}: {problem}", 0, _kind_of(problem)
        raise EndpointError(f"{self.url} gave no answer for {self.model}: {why}", status, kind)

    def _once(self, body: dict[str, Any]) -> Reply:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        self.usage.requests += 1
        with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
            found = json.loads(self._whole(answer))
        used = found.get("usage")
        used = used if isinstance(used, dict) else {}
        prompt, completion = _tokens(used.get("prompt_tokens")), _tokens(used.get("completion_tokens"))
        self.usage.prompt += prompt
        self.usage.completion += completion
        return Reply(dict(found["choices"][0]["message"]), prompt, completion)

    def _whole(self, answer: HTTPResponse) -> bytes:
        """What it says within the time of a try. Raises OSError and ValueError: it does not end."""
        found, deadline_s = bytearray(), time.monotonic() + self.timeout_s
        while part := answer.read1(_CHUNK):
            found += part
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the answer did not end within {self.timeout_s:g} s")
            if len(found) > _ANSWER_MAX:
                raise ValueError(f"the answer is longer than {_ANSWER_MAX} bytes")
        return bytes(found)


def _words_of(problem: urllib.error.HTTPError) -> str:
    """What a refusal says, as far as it comes."""
    try:
        with problem:
            return problem.read(_ERROR_MAX).decode(errors="replace")
    except (OSError, HTTPException, ValueError):
        return ""


def _tokens(said: object) -> int:
    """A count of tokens; what is none counts as none."""
    return max(0, said) if isinstance(said, int) else 0


def _kind_of(problem: Exception) -> str:
    """Of what happened on the way: nothing came in time, nobody was there, or what came is no answer."""
    reason = getattr(problem, "reason", problem)
    if isinstance(reason, TimeoutError):
        return "timeout"
    return "unreachable" if isinstance(problem, OSError) else "garbled"


def _with_text(reply: Reply) -> Reply:
    if not isinstance(reply.message["content"], str):
        raise ValueError("the answer is no text")
    return reply


def _with_words(reply: Reply) -> Reply:
    """Whether it is a message of an assistant; what it says is the model's, right or wrong."""
    content, calls = reply.message.get("content"), reply.message.get("tool_calls")
    if not isinstance(content, str | None) or not isinstance(calls, list | None):
        raise ValueError("the answer is no message")
    return reply


def _asked_for(text: str | None) -> float:
    """Seconds that an answer asks to wait, up to `_WAIT_MAX_S`; 0 if it names none (a date is not looked at)."""
    return min(float(text), _WAIT_MAX_S) if text is not None and text.strip().isdecimal() else 0.0
