"""A language model as the agent: it reasons, calls tools, reads their results, until it finishes.

What goes wrong is told apart. An endpoint that gives no answer raises EndpointError: the run was not made. What the
model writes is its own: calls that make no sense are answered with what is wrong, and a model that calls nothing
`SILENT_MAX` times in a row has ended.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from simcluster.eval.chat.context import Message, fitting, shown
from simcluster.eval.chat.endpoint import Endpoint, EndpointError, Reply
from simcluster.eval.chat.instructions import head, prompt
from simcluster.eval.chat.options import ModelOptions
from simcluster.eval.chat.tools import Toolkit, schema
from simcluster.surface.protocols import Session, Thinking

#: Replies without a call, one after the other, after which the model has ended.
SILENT_MAX = 3
#: Calls of one reply that are made; those beyond are refused.
CALLS_MAX = 16
#: Calls of one reply that are answered at all, and characters of what a model says that it is reminded of: what floods
#: would make requests that no endpoint takes.
ANSWERED_MAX, SAID_MAX = 64, 48_000
#: Characters of a call's id.
_ID_MAX = 200
#: So much of a text is looked through for a call: characters, and braces with which one could begin.
_TEXT_MAX, _BRACES_MAX = 200_000, 1_000
#: Replies of a run: commands are limited by the budget, calls that make no sense by this.
REPLIES_MAX = 400
#: Statuses by which endpoints refuse tools.
_NO_TOOLS = (400, 404, 422, 501)


class Chat(Protocol):
    """Whoever answers: an endpoint, or a recording of one."""

    def chat(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()) -> Reply:
        """The next message. Raises EndpointError."""


class Call(NamedTuple):
    """A call of a tool: its id (empty in plain text), and what the model wrote."""

    id: str
    name: object
    arguments: object


class ModelAgent:
    """A model at work.

    Args:
        chat: answers.
        options: policies.
        note: is given every exchange: messages that are new, the reply, its tokens.
        past: page and course of earlier runs, of which the nearest to the page are shown.
    """

    name = "llm"

    def __init__(
        self,
        chat: Chat,
        options: ModelOptions,
        note: Callable[[dict[str, Any]], None],
        past: Sequence[Sequence[str]] = (),
    ) -> None:
        self._chat = chat
        self._options = options
        self._note = note
        self._past = past
        self._undo = options.strategy == "undo"
        self._tools = schema(undo=self._undo) if options.tools else []
        self._turns: list[list[Message]] = []

    def run(self, session: Session) -> None:
        """Work until the model finishes, or says nothing more. Raises EndpointError, BudgetExceeded."""
        kit, silent = Toolkit(session, undo=self._undo), 0
        for _ in range(REPLIES_MAX):
            reply = self._asked(session.alert)
            self._think(session, reply.completion)
            message, calls = self._understood(reply.message)
            turn = [message]
            self._turns.append(turn)
            if not calls:
                silent += 1
                if silent == SILENT_MAX:
                    return
                turn.append({"role": "user", "content": prompt("nudge")})
                continue
            silent = 0
            for number, call in enumerate(calls):
                refused = f"error: at most {CALLS_MAX} calls in one message are made"
                answer = kit.call(call.name, call.arguments) if number < CALLS_MAX else refused
                turn.append(_answered(call, shown(answer)))
                if kit.finished:
                    self._note({"messages": turn[1:]})
                    return

    def _asked(self, page: str) -> Reply:
        """The model's next message; without tools from the first refusal of them on."""
        try:
            return self._exchange(page)
        except EndpointError as problem:
            if not self._tools or self._turns or problem.status not in _NO_TOOLS:
                raise
        self._tools = []
        return self._exchange(page)

    def _exchange(self, page: str) -> Reply:
        begin = head(page, self._options, self._past, tools=bool(self._tools))
        messages = fitting(begin, self._turns, self._options.context)
        reply = self._chat.chat(messages, self._tools)
        new = self._turns[-1][1:] if self._turns else begin
        asked = digest(messages, self._tools)
        tokens = [reply.prompt, reply.completion]
        self._note(
            {"asked": asked, "tools": bool(self._tools), "messages": new, "reply": reply.message, "tokens": tokens}
        )
        return reply

    def _think(self, session: Session, tokens: int) -> None:
        """Time passes while a model writes."""
        if self._options.think_rate and tokens and isinstance(session, Thinking):
            session.think(f"{tokens * 1_000_000_000 / self._options.think_rate:.0f}ns")

    def _understood(self, message: Message) -> tuple[Message, list[Call]]:
        """What is kept of a message, in the form that endpoints take back, and its calls."""
        text = str(message.get("content") or "")
        if not self._tools:
            return {"role": "assistant", "content": shown(text, SAID_MAX)}, _written(text)
        calls, kept = [], []
        for number, one in enumerate((message.get("tool_calls") or [])[:ANSWERED_MAX]):
            one = one if isinstance(one, dict) else {}
            asked: Any = one.get("function")
            asked = asked if isinstance(asked, dict) else {}
            call = Call(
                str(one.get("id") or f"call-{number}")[:_ID_MAX], asked.get("name"), asked.get("arguments", "{}")
            )
            calls.append(call)
            said = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
            function = {"name": str(call.name)[:80], "arguments": said if len(said) <= SAID_MAX else "{}"}
            kept.append({"id": call.id, "type": "function", "function": function})
        return {"role": "assistant", "content": shown(text, SAID_MAX), **({"tool_calls": kept} if kept else {})}, calls


def _answered(call: Call, text: str) -> Message:
    if call.id:
        return {"role": "tool", "tool_call_id": call.id, "content": text}
    return {"role": "user", "content": f"Result of {str(call.name)[:80]}:\n{text}"}


def _written(text: str) -> list[Call]:
    """The first call that a text holds."""
    decoder, text = json.JSONDecoder(), text[:_TEXT_MAX]
    for start in islice(re.finditer(r"\{", text), _BRACES_MAX):
        try:
            found, _ = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "tool" in found:
            return [Call("", found["tool"], found.get("arguments", {}))]
    return []


def digest(messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
    """Of a request: what it asks, in 128 bits."""
    data = json.dumps([list(messages), list(tools)], sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Recording:
    """The replies of an earlier run, in their order.

    Args:
        path: what `note` was given, one JSON object a line.

    Raises:
        EndpointError: there is no such file.
    """

    def __init__(self, path: Path) -> None:
        try:
            lines = [json.loads(line) for line in path.read_text().splitlines()]
        except (OSError, ValueError) as problem:
            raise EndpointError(f"no replies are recorded: {problem}", kind="recording") from None
        self._path = path
        self._left = [line for line in lines if "reply" in line]

    def chat(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()) -> Reply:
        """The next reply. Raises EndpointError: something else was asked then, or nothing more."""
        if self._left and tools and not self._left[0]["tools"]:
            raise EndpointError("tools were refused then", _NO_TOOLS[0])
        if not self._left or self._left[0]["asked"] != digest(messages, tools):
            other = f"{self._path} holds no reply to this request: the run is another one from here on"
            raise EndpointError(other, kind="recording")
        line = self._left.pop(0)
        return Reply(line["reply"], *line["tokens"])


def agent_of(
    model: str, wire: dict[str, Any], transcript: str, replies: str, past: Sequence[Sequence[str]] = ()
) -> ModelAgent:
    """The agent that a run is handed.

    Args:
        model: its name at the endpoint.
        wire: `ModelOptions.to_dict`.
        transcript: path of the file to which exchanges are added.
        replies: path of a recorded one that answers instead; empty: the endpoint does.
        past: page and course of earlier runs.
    """
    options = ModelOptions(**{**wire, "prices": tuple(wire["prices"])})

    def note(line: dict[str, Any]) -> None:
        with open(transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    if replies:
        return ModelAgent(Recording(Path(replies)), options, note, past)
    found = Endpoint(model, options.url, tries=options.tries, timeout_s=options.timeout_s)
    return ModelAgent(found, options, note, past)


def spent(transcript: Path, prices: tuple[float, float]) -> dict[str, Any]:
    """Requests that were answered, tokens and US dollars of a run, of what was noted."""
    try:
        lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    except (OSError, ValueError):
        lines = []
    tokens = [line["tokens"] for line in lines if "tokens" in line]
    prompt, completion = sum(one[0] for one in tokens), sum(one[1] for one in tokens)
    dollars = (prompt * prices[0] + completion * prices[1]) / 1e6
    return {"replies": len(tokens), "prompt": prompt, "completion": completion, "dollars": round(dollars, 6)}
