"""The reference agents in a cluster that somebody has just broken: each command they run, and what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.agents import registry
from simcluster.engine import SECOND
from simcluster.engine.clock import parse_duration
from simcluster.surface.nodeshell import NodeShell
from simcluster.surface.protocols import Outcome
from simcluster.world import World
from tests.transcripts import check

_SCENES = Path(__file__).parent / "at_work"


class Console:
    """A session in a world, without budget, that writes down what is done in it."""

    alert = "[FIRING] EntrySuccessLow shop/frontend"

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: list[str] = []

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        self.done.append(f"kubectl {command}" + (f" <<< {stdin}" if stdin else ""))
        self.world.run_for(SECOND)
        return self.world.kubectl().run(command, stdin)

    def node(self, name: str) -> Console:
        self.done.append(f"node {name}:")
        self.shell = NodeShell(self.world.machines[name], self.world)
        return self

    def sh(self, command: str) -> Outcome:
        self.done[-1] += f" {command}"
        self.world.run_for(SECOND)
        return self.shell.sh(command)

    def wait(self, duration: str) -> None:
        self.done.append(f"wait {duration}")
        self.world.run_for(parse_duration(duration))

    def diagnose(self, answer: str | dict[str, object]) -> None:
        self.done.append(f"diagnose {json.dumps(answer)}")


@pytest.fixture(scope="module")
def healthy() -> World:
    """A shop with users."""
    world = World(0, workers=3)
    world.deploy("online-boutique", "shop")
    world.run_for(40 * SECOND)
    world.add_users("shop", "frontend", 40)
    world.run_for(60 * SECOND)
    return world


class Scene:
    """What is done to the shop, and who comes to mend it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def wait(self, seconds: str) -> None:
        self.world.run_for(int(seconds) * SECOND)

    def stop(self, node: str, unit: str) -> None:
        self.world.machines[node].control("stop", unit)

    def cut(self, node: str) -> None:
        self.world.machines[node].power.cut()

    def hot(self, node: str) -> None:
        machine = self.world.machines[node]
        machine.cooling.impair(0.07)
        machine.burden("batch", 3.5)

    def run(self, line: str) -> Outcome:
        """`agent NAME`: what it does, each look once; or a kubectl command."""
        if not line.startswith("agent "):
            result = self.world.kubectl().run(line.removeprefix("kubectl "))
            return Outcome(result.stdout, result.stderr, result.exit_code)
        console = Console(self.world.fork())
        registry.create(line.removeprefix("agent ")).run(console)
        looked = [one for one in console.done if one.startswith(("kubectl get", "node"))]
        fresh = [one for at, one in enumerate(console.done) if one not in looked or one not in console.done[:at]]
        return Outcome("".join(f"{one}\n" for one in fresh))


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("name", sorted(path.stem for path in _SCENES.glob("*.transcript")))
def test_each_command_of_each_agent(healthy: World, name: str, request: pytest.FixtureRequest) -> None:
    scene = Scene(healthy.fork())
    verbs = {"wait": scene.wait, "stop": scene.stop, "cut": scene.cut, "hot": scene.hot}
    check(request, _SCENES / f"{name}.transcript", scene.run, verbs)


def test_agents_are_known_by_their_own_names() -> None:
    assert [getattr(registry.create(name), "name", "") for name in registry.names()] == registry.names()
