"""A log that somebody follows (`GET .../log?follow=true`), as a stream of bytes."""

from __future__ import annotations

from dataclasses import replace

from simcluster.api.request import Request
from simcluster.surface.http.door import Door

#: Of an answer that holds the whole log of a container as it is now.
_WHOLE = ("container", "timestamps", "previous")


def follows(request: Request) -> bool:
    """Whether the request asks for a log and for what comes after it."""
    return request.path.endswith("/log") and request.flag("follow")


class LogFollower:
    """Reads on where the answer ended.

    Args:
        request: which container's log, with its query.
    """

    def __init__(self, door: Door, request: Request) -> None:
        self._door = door
        query = tuple((key, value) for key, value in request.query if key in _WHOLE)
        self._request = Request(
            "GET", request.path, query, user=request.user, token=request.token, impersonate=request.impersonate
        )
        self._length = len(self._whole() or "")
        self._container = self._running()
        self.ended = not self._container  # there is nothing to come from a container that has ended
        self._news = ""

    def has_news(self) -> bool:
        """Whether lines have come that are not sent yet."""
        if not self._news and not self.ended:
            text = self._whole()
            if text is not None and len(text) > self._length:
                self._news, self._length = text[self._length :], len(text)
            elif text is None or self._running() != self._container:
                self.ended = True  # the container has ended, as a kubelet ends what follows its log
        return bool(self._news) or self.ended

    def read(self) -> bytes:
        """The lines that have come."""
        self.has_news()
        news, self._news = self._news, ""
        return news.encode()

    def finish(self) -> None:
        """The server ends it."""
        self.ended = True

    def close(self) -> None:
        """Nobody follows any more."""

    def _whole(self) -> str | None:
        answer = self._door.look(self._request)
        return answer.text if answer.ok else None

    def _running(self) -> str:
        """Which run of the container is running, as reported; empty if none is."""
        answer = self._door.look(replace(self._request, path=self._request.path.removesuffix("/log"), query=()))
        if not answer.ok:
            return ""
        status, wanted = answer.body.get("status") or {}, self._request.param("container")
        for entry in status.get("containerStatuses") or ():
            if entry["name"] == wanted or not wanted:
                return str(entry.get("containerID", "")) if "running" in entry["state"] else ""
        return ""
