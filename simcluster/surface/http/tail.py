"""Lines of Loki as they come (`/loki/api/v1/tail`), over a WebSocket.

A follower moves a stepped clock as `kubectl logs -f` does: until 30 simulated seconds have brought no line. Loki is
asked again every simulated second. Sources: pkg/querier/http.go, pkg/querier/tail of Loki 3.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from simcluster.engine import SECOND
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.http.kubernetes import REACTION_S
from simcluster.surface.observability import loki
from simcluster.surface.protocols import BudgetExceeded, HttpAnswer
from simcluster.telemetry.logql.http import NOT_UPGRADED
from simcluster.telemetry.logql.parameters import DEFAULT_ENTRIES, MAX_ENTRIES
from simcluster.telemetry.logql.units import EPOCH_NS

#: Lines of a message (`maxEntriesPerTailResponse`), and how late a line may come and still be shown.
MESSAGE_LINES, LATE_NS = 100, 60 * SECOND
#: Without a line for so long, a follower moves the clock no more.
PATIENCE_NS = 30 * SECOND
#: One line with its stream's labels.
Line = tuple[int, str, tuple[tuple[str, str], ...]]


class Tail:
    """One follower.

    Args:
        given: parameters of its request.
        caller: under whose name it asks; of this follower alone.
    """

    def __init__(self, turns: Turns, socket: WebSocket, given: Mapping[str, str], caller: Caller) -> None:
        self._turns, self._socket, self._given, self._caller = turns, socket, given, caller
        self._shown: dict[Line, int] = {}
        self._asked_ns = 0

    async def run(self) -> None:
        """Serve it to its end."""
        checked = await self._exchange("/loki/api/v1/tail", dict(self._given))
        if checked.wire.body != NOT_UPGRADED.encode():
            await self._socket.send_denial_response(
                Response(checked.wire.body, checked.wire.code, media_type="text/plain")
            )
            return
        await self._socket.accept()
        gone = asyncio.ensure_future(self._hang_up())
        try:
            await self._follow(gone)
        except BudgetExceeded as ended:
            await self._socket.close(1011, str(ended))
        except WebSocketDisconnect:
            return
        finally:
            gone.cancel()

    async def _follow(self, gone: asyncio.Future[None]) -> None:
        given = self._given
        limit = int(given.get("limit") or DEFAULT_ENTRIES)
        first = {name: given[name] for name in ("start", "since") if given.get(name)}
        await self._send(await self._lines({**first, "limit": str(limit), "direction": "backward"}))
        await self._recent()  # what was there before is not news
        quiet_since = self._turns.door.now_ns
        door = self._turns.door
        while not gone.done():
            before = door.now_ns
            if door.drives(self._caller) and before - quiet_since < PATIENCE_NS:
                await asyncio.wait({gone}, timeout=REACTION_S)
                if gone.done():
                    break
                await self._turns.take_long(lambda: door.follow(self._caller, self._is_due))
            if door.now_ns == before and not self._is_due():
                await self._turns.news(gone)
            if gone.done() or not self._is_due():
                continue
            found = await self._recent()
            if found:
                quiet_since = door.now_ns
                await self._send(found)

    def _is_due(self) -> bool:
        return self._turns.door.now_ns >= self._asked_ns + SECOND

    async def _exchange(self, path: str, query: Mapping[str, str]) -> HttpAnswer:
        asked = loki(path, tuple(query.items()))
        return await self._turns.take_long(lambda: self._turns.door.exchange(asked, self._caller))

    async def _recent(self) -> list[Line]:
        """Lines of the last while that have not been shown yet."""
        start = EPOCH_NS + self._turns.door.now_ns - LATE_NS
        return await self._lines({"start": str(start), "limit": str(MAX_ENTRIES), "direction": "forward"})

    async def _lines(self, asked: Mapping[str, str]) -> list[Line]:
        """Lines that have not been shown yet, oldest first."""
        self._asked_ns = now = self._turns.door.now_ns
        end = EPOCH_NS + now - int(self._given.get("delay_for") or 0) * SECOND
        query = {"query": self._given["query"], "end": str(end), **asked}
        answer = await self._exchange("/loki/api/v1/query_range", query)
        found: list[Line] = []
        counts: dict[Line, int] = {}
        for stream in json.loads(answer.wire.body)["data"]["result"] if answer.wire.code == 200 else []:
            labels = tuple(sorted(stream["stream"].items()))
            for stamp, text in stream["values"]:
                line = (int(stamp), text, labels)
                counts[line] = counts.get(line, 0) + 1
                if counts[line] > self._shown.get(line, 0):
                    found.append(line)
        oldest = EPOCH_NS + now - 2 * LATE_NS
        self._shown = {line: count for line, count in (self._shown | counts).items() if line[0] >= oldest}
        return sorted(found)

    async def _send(self, lines: list[Line]) -> None:
        for at in range(0, len(lines), MESSAGE_LINES):
            streams: list[dict[str, Any]] = [
                {"stream": dict(labels), "values": [[str(stamp), text]]}
                for stamp, text, labels in lines[at : at + MESSAGE_LINES]
            ]
            await self._socket.send_text(json.dumps({"streams": streams}, ensure_ascii=False, separators=(",", ":")))

    async def _hang_up(self) -> None:
        """Return when the client has gone; what it says is not listened to."""
        while (await self._socket.receive())["type"] != "websocket.disconnect":
            pass
