"""The episode's end of the wire: requests of an agent's process, answered one after the other.

Requests are all that the process can send. How its run ended it says itself, and is believed where that can be true.
"""

from __future__ import annotations

import math
import os
import selectors
import time
from collections.abc import Callable
from typing import Any

from simcluster.eval.isolation.ending import AGENT_ERROR, BUDGET, DONE, ENDPOINT, EXITED, TIMEOUT, Ending
from simcluster.eval.isolation.wire import Garbled, Wire
from simcluster.surface.protocols import BudgetExceeded, Outcome, Session, Thinking

#: Called after every command: tool, its text, its result.
Watcher = Callable[[str, str, Outcome], None]
#: Called with what an agent prints.
Sink = Callable[[bytes], object]

#: Characters of an agent's error text that are kept.
ERROR_MAX = 20_000
#: How often it is asked whether the work is over, wall-clock seconds.
LOOK_S = 0.25
_CHUNK = 1 << 16


class Conversation:
    """One agent's, until it says that it has ended or says nothing more.

    Args:
        wire: to the agent's process.
        session: what it works on.
        watcher: is called with every command.
        output: descriptor of what it prints.
        sink: is given what it prints.
    """

    def __init__(self, wire: Wire, session: Session, watcher: Watcher | None, output: int, sink: Sink) -> None:
        self._wire = wire
        self._session = session
        self._watcher = watcher
        self._output = output
        self._sink = sink
        self._spent = False  # the session has said that its budget is used up

    def hold(self, wall_s: float, over: Callable[[], Ending | None] | None = None) -> Ending | None:
        """How it ended; None if the connection was closed without a word. Raises Garbled.

        Args:
            wall_s: wall-clock seconds it may work.
            over: asked every `LOOK_S`; what it gives ends the conversation.
        """
        deadline_s = time.monotonic() + wall_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._wire.socket, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            while (left_s := deadline_s - time.monotonic()) > 0:
                patience_s = None if left_s == math.inf else left_s
                message = self._wire.take()
                if message is not None and "end" in message:
                    return self._ended(message)
                if over is not None:
                    if (ended := over()) is not None:
                        return ended._replace(by_itself=False)
                    patience_s = min(left_s, LOOK_S)
                answer = None if message is None else self._answer(message)
                self._wire.socket.settimeout(patience_s)
                try:
                    if answer is not None:
                        self._wire.send(answer)
                    else:
                        self._listen(selector, patience_s)
                except TimeoutError:
                    break
                except (EOFError, OSError):
                    return None
        return Ending(TIMEOUT, f"the agent worked longer than {wall_s:g} s of wall-clock time", by_itself=False)

    def _listen(self, selector: selectors.BaseSelector, patience_s: float | None) -> None:
        """Wait for a request or for output."""
        for key, _ in selector.select(patience_s):
            if key.fd != self._output:
                self._wire.feed()
            elif data := os.read(self._output, _CHUNK):
                self._sink(data)
            else:
                selector.unregister(self._output)

    def _ended(self, message: dict[str, Any]) -> Ending:
        outcome, error = str(message["end"]), str(message.get("error", ""))[:ERROR_MAX]
        if outcome == BUDGET and not self._spent:
            return Ending(AGENT_ERROR, f"BudgetExceeded, which the session did not raise: {error}")
        if outcome not in (DONE, BUDGET, ENDPOINT, AGENT_ERROR, EXITED):
            raise Garbled(f"it says that it ended as {outcome!r}")
        return Ending(outcome, error)

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked for. Raises Garbled, and what only a mistake of ours can raise."""
        try:
            return {"value": self._call(message.get("call"), message.get("arguments"))}
        except BudgetExceeded as reached:
            self._spent = True
            return {"raise": "BudgetExceeded", "text": str(reached)}
        except ValueError as wrong:
            return {"raise": "ValueError", "text": str(wrong)}

    def _call(self, name: Any, arguments: Any) -> list[str | int]:
        result = Outcome("")
        match name, arguments:
            case "kubectl", [str() as text, str() as stdin]:
                tool, result = "kubectl", self._session.kubectl(text, stdin)
            case "sh", [str() as text, str() as stdin]:
                tool, result = "sh", self._session.sh(text, stdin)
            case "node", [str() as node, str() as text]:
                tool, result = f"ssh {node}", self._session.node(node).sh(text)
            case "wait", [str() as text]:
                tool = "wait"
                self._session.wait(text)
            case "think", [str() as text] if isinstance(self._session, Thinking):
                tool = "think"
                self._session.think(text)
            case "diagnose", [str() | dict() as answer]:
                tool, text = "diagnose", str(answer)[:ERROR_MAX]
                self._session.diagnose(answer)
            case _:
                raise Garbled(f"no call of a session: {name!r:.80}")
        if self._watcher is not None:
            self._watcher(tool, text, result)
        return [result.stdout, result.stderr, result.exit_code]
