"""The tools over the protocol, by the official client: what they do, refuse and take back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client

import simcluster
from simcluster.eval.serving.incident import ServedIncident
from simcluster.session import Sandbox
from simcluster.session.door import SessionDoor
from simcluster.session.live import Live
from simcluster.surface.http.door import Turns
from simcluster.surface.mcp.servers import server_of
from simcluster.surface.mcp.toolbox import Toolbox
from tests import kiosk

Ask = Callable[..., Awaitable[str]]


def through(live: Live, what: Callable[[Ask], Awaitable[Any]], group: str = "") -> Any:
    """Do something by a client; `ask` calls a tool and returns its text, of an error with `!` before."""

    async def run() -> Any:
        server = server_of(Toolbox(Turns(SessionDoor(live)), ServedIncident(live)), group)
        async with Client(server) as client:

            async def ask(tool: str, **given: Any) -> str:
                result = await client.call_tool(tool, given)
                text = "".join(part.text for part in result.content)
                return f"!{text}" if result.is_error else text

            ask.tools = [tool.name for tool in (await client.list_tools()).tools]  # type: ignore[attr-defined]
            return await what(ask)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def settled() -> Sandbox:
    box = simcluster.sandbox(nodes=1, seed=3)
    box.kubectl("create deployment web --image=nginx")
    box.kubectl("create configmap page --from-literal=a=b")
    box.wait("30s")
    return box


@pytest.fixture
def box(settled: Sandbox) -> Sandbox:
    return settled.fork()


def test_commands_take_effect_and_cost_what_they_cost(box: Sandbox) -> None:
    async def session(ask: Any) -> None:
        assert "web" in await ask("exec_kubectl_cmd_safely", cmd="kubectl get deployments")
        assert "scaled" in await ask("exec_kubectl_cmd_safely", cmd="kubectl scale deployment web --replicas=2")
        assert await ask("wait_tool", seconds=500) == "Waited 120 seconds."
        assert "Linux" in await ask("run_on_node", node="worker-1", cmd="uname")
        assert "not found" in await ask("exec_kubectl_cmd_safely", cmd="kubectl get pod nothing")

    before = box.now_s
    through(box, session)
    assert box.now_s - before == pytest.approx(0.5 + 1 + 120 + 2 + 0.5, abs=0.01)
    assert "2/2" in str(box.kubectl("get deployment web"))


def test_what_is_refused_is_an_error_of_the_protocol_and_costs_nothing(box: Sandbox) -> None:
    async def session(ask: Any) -> None:
        for cmd in ("ls", "kubectl get pods | wc -l", "kubectl delete ns default", "kubectl exec -it x -- sh"):
            assert (await ask("exec_kubectl_cmd_safely", cmd=cmd)).startswith("!")
        assert (await ask("wait_tool", seconds=-1)).startswith("!")
        assert (await ask("wait_tool", seconds="soon")).startswith("!")

    before = box.world_digest
    through(box, session)
    assert box.world_digest == before


@pytest.mark.parametrize(
    "cmd",
    [
        "kubectl scale deployment web --replicas=3",
        "kubectl set image deployment/web nginx=nginx:1.27",
        'kubectl patch configmap page -p \'{"data":{"a":"c"}}\'',
        "kubectl delete configmap page",
        "kubectl create configmap more --from-literal=x=y",
        "kubectl rollout restart deployment/web",
        "kubectl cordon worker-1",
        "kubectl taint node worker-1 a=b:NoSchedule",
        "kubectl apply -f - <<EOF\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\ndata: {a: z}\nEOF",
    ],
)
def test_writes_are_taken_back(box: Sandbox, cmd: str) -> None:
    def state() -> list[Any]:
        store = box.world.api.store
        specs = [obj.get("spec") for kind in ("deployments.apps", "nodes") for obj in store.objects(kind, None)]
        return [
            *specs,
            [
                obj["data"]
                for obj in store.objects("configmaps", "default")
                if obj["metadata"]["name"] != "kube-root-ca.crt"
            ],
        ]

    async def session(ask: Any) -> None:
        assert await ask("rollback_command") == "No more actions to rollback."
        assert "No previous command" in await ask("get_previous_rollbackable_cmd")
        done = await ask("exec_kubectl_cmd_safely", cmd=cmd)
        assert not done.startswith(("!", "error")), done
        assert state() != before
        assert (await ask("get_previous_rollbackable_cmd")).startswith("kubectl ")
        assert (await ask("rollback_command")).startswith("Rolled back: kubectl ")
        assert await ask("rollback_command") == "No more actions to rollback."

    before = state()
    through(box, session, "kubectl")
    box.wait("1s")
    assert state() == before


def test_a_look_prepares_nothing_and_a_trial_leaves_no_trace(box: Sandbox) -> None:
    async def session(ask: Any) -> None:
        await ask("exec_kubectl_cmd_safely", cmd="kubectl get pods")
        await ask("exec_kubectl_cmd_safely", cmd="kubectl scale deployment nothing --replicas=2")
        assert "No previous command" in await ask("get_previous_rollbackable_cmd")

    twin = box.fork()
    through(box, session)
    twin.kubectl("get pods")
    twin.kubectl("scale deployment nothing --replicas=2")
    assert box.world_digest == twin.world_digest


def test_groups_have_their_own_tools(box: Sandbox) -> None:
    async def names(ask: Any) -> list[str]:
        return sorted(ask.tools)

    kubectl = ["exec_kubectl_cmd_safely", "get_previous_rollbackable_cmd", "rollback_command"]
    assert through(box, names, "kubectl") == kubectl
    assert through(box, names, "submit") == ["submit"]
    assert set(kubectl) < set(through(box, names))


def test_a_scripted_agent_solves_a_task_through_the_tools_alone() -> None:
    episode = kiosk.started()

    async def solve(ask: Any) -> None:
        assert "at the kiosk" in await ask("get_alert")
        pods = await ask("exec_kubectl_cmd_safely", cmd="kubectl get pods -n kiosk --no-headers")
        waiting = next(line.split()[0] for line in pods.splitlines() if "Image" in line)
        name = waiting.rsplit("-", 2)[0]
        answer = await ask("exec_kubectl_cmd_safely", cmd=f"kubectl describe pod {waiting} -n kiosk")
        image = next(line.split()[-1] for line in answer.splitlines() if line.strip().startswith("Image:"))
        await ask("exec_kubectl_cmd_safely", cmd=f"kubectl rollout undo deployment/{name} -n kiosk")
        await ask("wait_tool", seconds=60)
        text = f"Deployment {name} was given the image {image}, whose tag the registry does not have: ImagePullBackOff."
        assert await ask("submit", ans=text) == "Submission received"
        assert await ask("submit", ans="done") == "Submission received"
        assert await ask("submit", ans="done") == "All stages completed"

    through(episode, solve)
    assert episode.report.passed, episode.report.explain()


def test_what_is_tried_on_a_copy_leaves_the_cluster_as_it_was(box: Sandbox) -> None:
    async def session(ask: Any) -> None:
        assert {"fork", "counterfactual"} <= set(ask.tools)
        commands = ["kubectl delete deployment web", "wait 10s", "kubectl get deployments", "node worker-1 uname"]
        first, _, gone, node = json.loads(await ask("fork", commands=commands))
        assert "deleted" in first["output"]
        assert "No resources found" in gone["output"]
        assert (node["output"], node["exit_code"]) == ("Linux\n", 0)
        scaled = ["kubectl scale deployment web --replicas=2"]
        looks = ["kubectl get deployment web --no-headers"]
        found = json.loads(await ask("counterfactual", commands=scaled, looks=looks, seconds=30))
        assert "2/2" in found["with"][0]["output"]
        assert "1/1" in found["without"][0]["output"]
        for wrong in (["ls"], ["kubectl edit deployment web"], [], ["wait 1s"] * 21):
            assert (await ask("fork", commands=wrong)).startswith("!")

    before = box.digest
    through(box, session)
    assert box.digest == before


def test_a_task_says_whether_copies_are_allowed() -> None:
    episode = simcluster.start("wrong_service_selector_online_boutique")

    async def session(ask: Any) -> None:
        assert "fork" not in ask.tools
        assert (await ask("fork", commands=["wait 1s"])).startswith("!")

    through(episode, session)
    episode.task = episode.task.model_copy(update={"allows": ("fork",)})

    async def allowed(ask: Any) -> None:
        assert "fork" in ask.tools
        assert "counterfactual" not in ask.tools

    through(episode, allowed)
