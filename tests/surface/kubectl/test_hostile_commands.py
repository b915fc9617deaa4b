"""Command lines that make no sense end in an error text, never in an exception."""

from __future__ import annotations

import random

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.surface.kubectl.commands import COMMANDS, Command
from simcluster.world.world import World

WORDS = (
    *("pods", "pod", "deploy", "deploy/web", "web", "nodes", "node/worker-1", "worker-1", "cm/a", "svc/kubernetes"),
    *("nope", "x=y", "x-", "a=b:NoSchedule", "all", "kube-system", "-", "--", "ls", "{}", "[]", "", ",", "/", "a/b/c"),
    *("crd", "role/x", "cronjob/cj", "nginx=busybox:2", "*", ".spec", "pod.spec", "generic"),
)
VALUES = (
    *("", "x", "1", "-1", "a=b", "app=web", "json", "yaml", "wide", "name", "jsonpath={.x[0]", "go-template={{.x}}"),
    *("jsonpath={.items[*].metadata.name}", "custom-columns=A:.b", "client", "server", "web", '{"a":1}', "nofile"),
    *('[{"op":"remove","path":"/x"}]', "-", "background", "metadata.name=x", "condition=Ready", "delete", "merge"),
    *("jsonpath={.a}=1", "worker-1", "cpu=1", "get,list", "pods"),
)


@pytest.fixture(scope="module")
def booted() -> Snapshot[World]:
    world = World(0)
    world.run_for(40 * SECOND)
    kubectl = world.kubectl()
    for line in ("create deployment web --image=nginx", "create cm a --from-literal=x=1"):
        kubectl.run(line)
    world.run_for(5 * SECOND)
    return Snapshot(world)


def some_command(rng: random.Random) -> tuple[list[str], Command]:
    path: list[str] = []
    commands = COMMANDS
    while True:
        name = rng.choice(list(commands))
        path.append(name)
        command = commands[name]
        if not command.subcommands or (command.run is not None and rng.random() < 0.4):
            return path, command
        commands = dict(command.subcommands)


def some_line(rng: random.Random) -> list[str]:
    argv, command = some_command(rng)
    argv += [rng.choice(WORDS) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    fixed = {"bool": ("true", "false"), "int": ("0", "1", "3", "-1"), "duration": ("1s", "0s")}
    for flag in rng.sample(list(command.flags), min(len(command.flags), rng.choice([0, 1, 2, 3]))):
        argv.append(f"--{flag.name}={rng.choice(fixed.get(flag.kind, VALUES))}")
    if any(flag.name == "timeout" for flag in command.flags):
        argv.append("--timeout=2s")
    return argv


@pytest.mark.parametrize("seed", range(4))
def test_nonsense_is_answered(booted: Snapshot[World], seed: int) -> None:
    rng = random.Random(seed)
    kubectl = booted.restore().kubectl()
    for _ in range(40):
        line = some_line(rng)
        result = kubectl.run(line, "kind: ConfigMap\napiVersion: v1\nmetadata: {name: b}\n")
        assert result.exit_code == 0 or result.stderr, line
