"""Hostile inputs over the three places and the programs in containers: each in a process of its own, with a clock.

None takes more than two seconds of a quiet processor or 200 MB, or raises an error to the caller. Whole
(`pytest --whole`): 512 inputs.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import shlex
import time
from typing import Any

import pytest

import simcluster
from tests.surface.desk.hostileinputs import INPUTS

#: What may be spent on one input: seconds of a quiet processor's time (twice the goal of two), bytes.
CPU_S, BYTES = 4.0, 200_000_000
#: Seconds that `pace` takes on a quiet processor of 2 to 3 GHz.
_QUIET_S = 0.06
_IMAGES = {
    "pg": "postgres:16",
    "redis": "redis:7",
    "mongo": "mongo:7",
    "my": "mysql:8",
    "deb": "debian:12",
    "alp": "alpine:3.20",
}
_ENV = {"pg": ("POSTGRES_PASSWORD", "x"), "my": ("MYSQL_ROOT_PASSWORD", "x")}
_TYPED_INTO = {
    "pg": ("psql", "-U", "postgres", "-c"),
    "my": ("mysql", "-uroot", "-px", "-e"),
    "mongo": ("mongosh", "--quiet", "--eval"),
    "deb": ("bash", "-c"),
    "alp": ("sh", "-c"),
}


@functools.cache
def box() -> Any:
    """A cluster with a pod for each program."""
    made = simcluster.sandbox(nodes=2)
    for name, image in _IMAGES.items():
        env = [f"--env={'='.join(_ENV[name])}"] if name in _ENV else []
        sleeps = ["--command", "--", "sleep", "infinity"] if name in ("deb", "alp") else []
        made.kubectl(shlex.join(["run", name, f"--image={image}", *env, *sleeps]))
    made.wait("90s")
    assert made.sh("kubectl get pods | grep -c Running").stdout == f"{len(_IMAGES)}\n"
    return made


def typed(place: str, text: str) -> Any:
    """What the place answers."""
    if place == "desk":
        return box().sh(text)
    if place == "node":
        return box().node("worker-1").sh(text)
    if place == "redis":
        return box().kubectl(f"exec redis -- redis-cli {text}")
    return box().kubectl(f"exec {place} -- {' '.join(_TYPED_INTO[place])} {shlex.quote(text)}")


def pace() -> float:
    """How much more CPU the same work costs here and now than on a quiet machine: 1 and more."""
    begun = time.process_time()
    total = 0
    for number in range(1_000_000):
        total ^= number * number
    return max(1.0, (time.process_time() - begun) / _QUIET_S)


def spent(place: str, text: str) -> tuple[float, int, str]:
    """CPU seconds, bytes and error of an input, in a child that ends soon."""
    box()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (30, 31))
        before = resource.getrusage(resource.RUSAGE_SELF)
        problem = ""
        try:
            typed(place, text)
        except BaseException as error:
            problem = repr(error)[:1000]
        after = resource.getrusage(resource.RUSAGE_SELF)
        grown = (after.ru_maxrss - before.ru_maxrss) * 1024
        os.write(writing, json.dumps([after.ru_utime - before.ru_utime, grown, problem]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    found = json.loads(said) if said else [30.0, 0, "the process was ended"]
    return float(found[0]), int(found[1]), str(found[2])


def test_there_are_enough() -> None:
    assert len(INPUTS) > 500


@pytest.mark.slow(sample=12)
@pytest.mark.parametrize("number", range(len(INPUTS)))
def test_a_hostile_input_is_bounded(number: int) -> None:
    before = pace()
    cpu_s, grown, problem = spent(*INPUTS[number])
    assert not problem
    assert cpu_s < CPU_S * max(before, pace())
    assert grown < BYTES


@pytest.mark.parametrize(
    ("place", "text", "code", "said"),
    [
        ("desk", "touch $(seq 200000)", 126, "bash: line 1: /usr/bin/touch: Argument list too long\n"),
        ("desk", "kubectl get pods -o go-template='{{printf \"%1000000001d\" 1}}'", 0, "%!(BADWIDTH)1"),
        ("desk", "join <(yes 1 | head -2000) <(yes 1 | head -2000)", 137, "Killed\n"),
        ("desk", "jq -n '[recurse(if . == null then [] else [.,.] end)]'", 137, "Killed\n"),
        ("desk", "mkdir -p $(printf 'a/%.0s' {1..3000})", 1, "File name too long\n"),
        ("desk", "echo \ud800", 0, "\ufffd\n"),
        ("node", "date -s '@999999999999'", 1, "date: cannot set date: Invalid argument\n"),
        (
            "mongo",
            "db.a.insertOne(" + "{a:" * 3000 + "1" + "}" * 3000 + ")",
            1,
            "command terminated with exit code 1\n",
        ),
    ],
)
def test_what_is_said_of_the_end(place: str, text: str, code: int, said: str) -> None:
    answer = typed(place, text)
    assert answer.exit_code == code
    assert (answer.stderr or answer.stdout).endswith(said)
