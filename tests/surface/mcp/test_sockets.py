"""MCP over sockets and over standard input: with the token, on all mounts, without naming anything."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import httpx2 as httpx
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.surface.http.served import ServedCluster


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedCluster]:
    made = ServedCluster(tmp_path / "out", "--empty", "--nodes", "1")
    yield made
    made.kill()


def _bearer(served: ServedCluster) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.token}"}


def _address(served: ServedCluster, path: str) -> str:
    desk = served.environment["SIMCLUSTER_DESK"].strip("'")
    return f"http://{desk.rpartition('@')[2]}{path}"


def test_all_mounts_answer_and_want_the_token(served: ServedCluster) -> None:
    served.wait()
    refused = httpx.post(_address(served, "/mcp"), json={})
    assert refused.status_code == 401

    async def run() -> list[list[str]]:
        found = []
        for _ in range(3000):
            if httpx.get(_address(served, "/kubectl/nothing"), headers=_bearer(served)).text == "Not Found":
                break
            await asyncio.sleep(0.1)
        for path in ("/mcp", "/kubectl/mcp", "/submit/mcp"):
            async with (
                httpx.AsyncClient(headers=_bearer(served)) as http,
                Client(streamable_http_client(_address(served, path), http_client=http)) as client,
            ):
                found.append(sorted(tool.name for tool in (await client.list_tools()).tools))
        async with Client(sse_client(_address(served, "/kubectl/sse"), headers=_bearer(served))) as client:
            answer = await client.call_tool("exec_kubectl_cmd_safely", {"cmd": "kubectl get nodes"})
            assert "worker-1" in answer.content[0].text
            found.append(sorted(tool.name for tool in (await client.list_tools()).tools))
        return found

    whole, kubectl, submit, older = asyncio.run(run())
    assert kubectl == older == ["exec_kubectl_cmd_safely", "get_previous_rollbackable_cmd", "rollback_command"]
    assert submit == ["submit"]
    assert set(kubectl) | set(submit) < set(whole)


def test_a_configured_client_starts_the_server_itself(tmp_path: Path) -> None:
    async def run() -> None:
        arguments = ["-m", "simcluster", "mcp", "wrong_image_tag_online_boutique", "--out", str(tmp_path)]
        place = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
        async with Client(place) as client:
            answer = await client.call_tool("exec_kubectl_cmd_safely", {"cmd": "kubectl get ns"})
            assert "boutique" in answer.content[0].text

    asyncio.run(run())
    assert (tmp_path / "replay.jsonl").exists()
    for _ in range(6000):
        if (tmp_path / "report.json").exists():
            break
        time.sleep(0.1)
    assert json.loads((tmp_path / "report.json").read_text())["task"] == "wrong_image_tag_online_boutique"
