"""One scripted policy through every door: the same commands with the same charges leave one world.

The digest of the world is that of everything that was committed in it; the digest of a run has besides what was typed,
so it is equal among doors that hand the session the same lines.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from simcluster.eval.episode import Episode, start
from simcluster.eval.frameworks.aiopslab import Orchestrator
from simcluster.eval.serving import command
from simcluster.eval.training.environment import IncidentEnv

TASK = "wrong_service_selector_online_boutique"
LOOK = "get endpoints -n boutique"
MEND = """patch service cartservice -n boutique --type=merge -p '{"spec":{"selector":{"version":null}}}'"""
LINES = (f"kubectl {LOOK}", f"kubectl {MEND}")
Door = Callable[[], Episode]


def python() -> Episode:
    """Methods of the session."""
    episode = start(TASK, 0)
    episode.kubectl(LOOK)
    episode.kubectl(MEND)
    episode.wait("30s")
    return episode


def desk() -> Episode:
    """Lines of the desk's shell, and a wait."""
    episode = start(TASK, 0)
    for line in LINES:
        episode.sh(line)
    episode.wait("30s")
    return episode


def environment() -> Episode:
    """Steps of Gymnasium's environment."""
    env = IncidentEnv(TASK)
    env.reset(seed=0)
    for line in (*LINES, "wait 30s"):
        env.step(line)
    assert env.episode is not None
    return env.episode


def sandbox() -> Episode:
    """The sandbox of Inspect."""
    inspectai = pytest.importorskip("simcluster.eval.frameworks.inspectai")
    episode = start(TASK, 0)

    async def act() -> None:
        for line in LINES:
            await inspectai.Desk(episode).exec(["bash", "--login", "-c", line])

    asyncio.run(act())
    episode.wait("30s")
    return episode


def orchestrator() -> Episode:
    """AIOpsLab's orchestrator, whose agent runs out of steps; it is not graded until then."""

    class Agent:
        replies = [f"```\nexec_shell({line!r})\n```" for line in LINES]  # noqa: RUF012

        async def get_action(self, input: str) -> str:
            return self.replies.pop(0)

    found = Orchestrator()
    found.register_agent(Agent())
    found.init_problem(f"{TASK}-localization-1")
    asyncio.run(found.start_problem(max_steps=len(LINES)))
    assert found.episode is not None
    found.episode.wait("30s")
    return found.episode


def real_kubectl() -> Episode:
    """The real kubectl over TLS, and the desk's own address for time."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl on this machine")
    episode = start(TASK, 0)
    with command.served(episode, 600.0) as served:
        environment = os.environ | served.environment
        for line in LINES:
            done = subprocess.run(
                ["sh", "-c", line.replace("kubectl", program, 1)], env=environment, capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr
        user, _, address = served.environment["SIMCLUSTER_DESK"].removeprefix("http://").rpartition("@")
        request = urllib.request.Request(f"http://{address}/wait", b"30s")
        request.add_header("Authorization", f"Basic {b64encode(user.encode()).decode()}")
        urllib.request.urlopen(request).close()
    return episode


def mcp_client() -> Episode:
    """The MCP SDK's client over streamable HTTP."""
    mcp: Any = pytest.importorskip("mcp")
    http = pytest.importorskip("httpx2")
    streamable = pytest.importorskip("mcp.client.streamable_http")
    episode = start(TASK, 0)

    async def act(address: str, token: str) -> None:
        async with (
            http.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as client,
            mcp.Client(streamable.streamable_http_client(address, http_client=client)) as session,
        ):
            for line in LINES:
                await session.call_tool("exec_kubectl_cmd_safely", {"cmd": line})
            await session.call_tool("wait_tool", {"seconds": 30})

    with command.served(episode, 600.0) as served:
        address = f"http://{served.environment['SIMCLUSTER_MCP'].rpartition('@')[2]}"
        asyncio.run(act(address, served.environment["SIMCLUSTER_TOKEN"]))
    return episode


@pytest.fixture(scope="module")
def expected() -> Episode:
    return python()


@pytest.mark.parametrize("door", [desk, environment, sandbox, orchestrator, real_kubectl, mcp_client])
def test_every_door_leads_to_one_world(door: Door, expected: Episode) -> None:
    found = door()
    assert found.world.sim.now == expected.world.sim.now
    assert found.world.sim.digest.hex() == expected.world.sim.digest.hex()
    if door in (environment, mcp_client):
        assert found.digest == expected.digest
    if door in (sandbox, orchestrator):
        assert found.digest == desk().digest
