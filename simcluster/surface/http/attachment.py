"""attach over WebSocket: what the container writes from now on, until it ends or nothing comes for a while."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simcluster.api.request import Request
from simcluster.surface.http.logfollow import LogFollower

if TYPE_CHECKING:
    from simcluster.surface.http.channels import Channels

_STDOUT = 1


class Attachment:
    """One attachment: there is no terminal in a container, and its log holds what it writes."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels

    async def run(self) -> dict[str, Any]:
        """Send what comes; the Status at the end."""
        channels, turns = self._channels, self._channels.turns
        caller = channels.exchange_caller()
        request = _log_of(channels.request)
        answer = await turns.take(lambda: turns.door.exchange(request, caller))
        if answer.response is None or not answer.response.ok:
            return {
                "metadata": {},
                "status": "Failure",
                "message": answer.wire.body.decode(errors="replace"),
                "code": 500,
            }
        log = LogFollower(turns.door, request)
        while not log.ended:
            chunk = await turns.take(log.read)
            if chunk:
                await channels.send(_STDOUT, chunk)
            elif turns.door.drives(caller):
                if not await turns.take_long(lambda: turns.door.follow(caller, log.has_news)):
                    break
            else:
                await turns.news()
        return {"metadata": {}, "status": "Success"}


def _log_of(request: Request) -> Request:
    path = request.path.removesuffix("/attach") + "/log"
    query = tuple((key, value) for key, value in request.query if key == "container")
    return replace(request, method="GET", path=path, query=(*query, ("follow", "true"), ("tailLines", "0")))
