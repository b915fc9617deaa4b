"""The routes of OpenEnv over an incident as an environment: `/reset`, `/step`, `/state` and what describes them.

An action is `{"line": …}`, a line as in `actions`. The HTTP routes share one episode; every WebSocket (`/ws`) has one
of its own, as clients of OpenEnv expect. All of them are served by one thread, one request after the other.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from simcluster.engine.content import ContentError, UnknownName
from simcluster.eval.training.actions import TOOLS
from simcluster.eval.training.environment import ACTION_MAX, IncidentEnv
from simcluster.eval.worlds.healthy import NotAnIncident
from simcluster.faults.target import ImpossibleTarget
from simcluster.session.log import versions

#: WebSockets that are served at once; each holds an episode of some 100 MB.
SESSIONS_MAX = 16
#: Characters of what is wrong with a request that are told.
_WORDS_MAX = 2_000
Found = TypeVar("Found")


class Action(BaseModel):
    """What is done: one line."""

    model_config = ConfigDict(extra="forbid")

    line: str = Field(max_length=ACTION_MAX, description=f"A line that begins with one of {', '.join(TOOLS)}.")
    metadata: dict[str, Any] = Field(default_factory=dict)


class Seen(BaseModel):
    """What is seen."""

    alert: str
    output: str
    exit_code: int
    seconds: int
    commands_left: int


class State(BaseModel):
    """Which episode it is, and how far it has come."""

    episode_id: str | None = None
    step_count: int = 0
    task: str = ""
    seed: int | None = None
    digest: str = ""


class Reset(BaseModel):
    """What `/reset` takes."""

    model_config = ConfigDict(extra="forbid")

    seed: int | None = Field(default=None, ge=0)
    episode_id: str | None = Field(default=None, max_length=255)
    task: str | None = None
    noise: str | None = None


class Step(BaseModel):
    """What `/step` takes; simulated time does not run while nobody acts, so `timeout_s` is not needed."""

    action: Action
    timeout_s: float | None = Field(default=None, gt=0)
    request_id: str | None = Field(default=None, max_length=255)


class Wrong(Exception):
    """A request that cannot be met: a step before a reset or after the end, or no such task."""


class Session:
    """One environment, and which episode of it is played."""

    def __init__(self, env: IncidentEnv) -> None:
        self._env = env
        self._over = True
        self.state = State()

    def reset(self, wanted: Reset) -> dict[str, Any]:
        """A new episode. Raises Wrong."""
        options = {name: value for name, value in (("task", wanted.task), ("noise", wanted.noise)) if value}
        try:
            seen, info = self._env.reset(seed=wanted.seed, options=options)
        except (UnknownName, ContentError, ImpossibleTarget, NotAnIncident, OSError, ValueError) as problem:
            raise Wrong(str(problem)[:_WORDS_MAX]) from None
        name = wanted.episode_id or str(uuid.uuid4())
        self.state, self._over = State(episode_id=name, task=info["task"], seed=info["seed"]), False
        return {"observation": seen, "reward": None, "done": False}

    def step(self, action: Action) -> dict[str, Any]:
        """One action. Raises Wrong."""
        if self._over:
            raise Wrong("there is no episode, or it is over: reset")
        seen, reward, terminated, truncated, info = self._env.step(action.line)
        self._over = terminated or truncated
        self.state.step_count += 1
        self.state.digest = info["digest"]
        return {"observation": seen, "reward": float(reward), "done": self._over}


class Server:
    """The environments of one process.

    Args:
        task, noise, grade: as of `IncidentEnv`.
    """

    def __init__(self, task: str, noise: str | None = None, grade: Literal["checks", "examination"] = "checks") -> None:
        self._make: Callable[[], Session] = lambda: Session(IncidentEnv(task, noise, grade=grade))
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._shared = self._make()
        self._open = 0
        self.task = task

    def application(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/reset", self._reset, methods=["POST"]),
                Route("/step", self._step, methods=["POST"]),
                Route("/state", self._state),
                Route("/schema", self._schema),
                Route("/metadata", self._metadata),
                Route("/health", self._health),
                WebSocketRoute("/ws", self._socket),
            ],
            exception_handlers={ValidationError: _unprocessable, Wrong: _conflict},
        )

    async def _in_turn(self, what: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._thread, what)

    async def _reset(self, request: Request) -> Response:
        wanted = Reset.model_validate_json(await request.body() or b"{}")
        return JSONResponse(await self._in_turn(lambda: self._shared.reset(wanted)))

    async def _step(self, request: Request) -> Response:
        wanted = Step.model_validate_json(await request.body())
        return JSONResponse(await self._in_turn(lambda: self._shared.step(wanted.action)))

    async def _state(self, request: Request) -> Response:
        return JSONResponse(self._shared.state.model_dump())

    async def _schema(self, request: Request) -> Response:
        schemas: dict[str, type[BaseModel]] = {"action": Action, "observation": Seen, "state": State}
        return JSONResponse({name: model.model_json_schema() for name, model in schemas.items()})

    async def _metadata(self, request: Request) -> Response:
        says = "An incident in a Kubernetes cluster: find the cause, mend it, say what it was."
        return JSONResponse(
            {"name": f"simcluster/{self.task}", "description": says, "version": versions()["simcluster"]}
        )

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        if self._open >= SESSIONS_MAX:
            await socket.send_json(_error("CAPACITY_REACHED", f"{SESSIONS_MAX} sessions are open"))
            await socket.close(1013)
            return
        self._open += 1
        session = self._make()
        try:
            while (answer := await self._answered(session, await _received(socket))) is not None:
                await socket.send_json(answer)
            await socket.close()
        except WebSocketDisconnect:
            pass
        finally:
            self._open -= 1

    async def _answered(self, session: Session, text: str | bytes) -> dict[str, Any] | None:
        """The answer to one message; None if it ends the session."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return _error("INVALID_JSON", "the message is no JSON")
        message = message if isinstance(message, dict) else {}
        data = message.get("data", {})
        try:
            match message.get("type"):
                case "reset":
                    wanted = Reset.model_validate(data)
                    return {"type": "observation", "data": await self._in_turn(lambda: session.reset(wanted))}
                case "step":
                    action = Action.model_validate(data)
                    return {"type": "observation", "data": await self._in_turn(lambda: session.step(action))}
                case "state":
                    return {"type": "state", "data": session.state.model_dump()}
                case "close":
                    return None
                case kind:
                    return _error("UNKNOWN_TYPE", f"no type of a message: {kind!r:.80}")
        except ValidationError as problem:
            return _error("VALIDATION_ERROR", str(problem))
        except Wrong as problem:
            return _error("EXECUTION_ERROR", str(problem))


async def _received(socket: WebSocket) -> str | bytes:
    """The next message, text or bytes. Raises WebSocketDisconnect."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000), message.get("reason"))
    text: str | bytes | None = message.get("text")
    return text if text is not None else message.get("bytes") or b""


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code}}


def _unprocessable(request: Request, problem: Exception) -> Response:
    return JSONResponse({"detail": str(problem)}, 422)


def _conflict(request: Request, problem: Exception) -> Response:
    return JSONResponse({"detail": str(problem)}, 409)
