"""Turns as steps: the same look has the same token, however it was spelled.

A token names the kind of look and what it is aimed at, and leaves out namespaces, selectors and formats, as
Cloud-OpsBench standardises the calls of its tools: `list::pods`, `show::deployments::cart`, `logs::cart`,
`node::worker-1`. Pods are called as their workload; `show::pods::*` reads all of them whole.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import NamedTuple

import yaml

from simcluster.api.resources import BUILT_IN
from simcluster.eval.process.transcript import Turn
from simcluster.session import http
from simcluster.surface.kubectl.errors import KubectlError
from simcluster.surface.kubectl.flags import Arguments, parse
from simcluster.surface.kubectl.kubectl import locate

#: What the controllers append to the names of pods (Cloud-OpsBench, evaluation).
_SUFFIX = re.compile(r"(?:-[a-f0-9]{8,10}-[a-z0-9]{4,6}|-[a-z0-9]{5}|-\d+)$")
#: A word that means a resource -> its plural.
_PLURALS = {
    word.lower(): one.plural
    for one in reversed(BUILT_IN.all)
    for word in (one.plural, one.singular, one.kind, *one.short_names)
}
_EVERYTHING = "*"
#: Verbs of kubectl with a meaning of their own as an exit status: it is no mistake.
_ASKING = ("wait", "diff", "auth can-i", "rollout status")
#: Exit statuses of shells that say that the command itself is wrong: bad usage, not executable, not found.
_MISUSED = (2, 126, 127)
INTERRUPTED = 130
#: Programs behind the API server's proxy, by a piece of the Service's name -> the token of a question to them.
_STORES = {"prometheus": "metrics::", "alertmanager": "alerts::", "loki": "loglines::", "jaeger": "traces::"}


class Step(NamedTuple):
    """One step.

    Attributes:
        at_ns: when it took effect.
        token: what it is.
        writes: whether it may have changed the world.
        invalid: it failed by the agent's own mistake: a command, an argument or an object that does not exist.
        aims: what a write is aimed at: `resource/name`, `node/NAME`.
        answer: digest of what came back.
    """

    at_ns: int
    token: str
    writes: bool
    invalid: bool
    aims: tuple[str, ...]
    answer: str


def steps_of(turns: list[Turn]) -> list[Step]:
    """The steps among the turns: what began a command or may have changed something; waits and diagnoses are none."""
    found = (_step(turn) for turn in turns if turn.counts or turn.writes)
    return [step for step in found if step is not None]


def workload_of(pod: str) -> str:
    """The workload of a pod, by its name.

    >>> workload_of("cart-5d4f7c9b8-x2x9k"), workload_of("mongodb-0"), workload_of("worker")
    ('cart', 'mongodb', 'worker')
    """
    return _SUFFIX.sub("", pod)


def plural_of(word: str) -> str:
    """The plural by which tokens call a resource: of `deploy`, `Deployment`, `deployments.apps`."""
    return _PLURALS.get(word.lower().partition(".")[0], word.lower())


def _step(turn: Turn) -> Step | None:
    if turn.tool == "kubectl":
        return _of_kubectl(turn)
    if turn.tool == "http":
        return _of_http(turn)
    if turn.tool == "sh":
        return Step(turn.at_ns, "desk::sh", turn.writes, turn.exit_code in _MISUSED, (), turn.digest)
    if turn.tool == "node":
        wrong = turn.exit_code in (*_MISUSED, 255)
        return Step(turn.at_ns, f"node::{turn.target}", turn.writes, wrong, (f"node/{turn.target}",), turn.digest)
    if turn.tool == "container":
        pod = workload_of(turn.target.split("/")[1])
        return Step(turn.at_ns, f"exec::{pod}", turn.writes, turn.exit_code in _MISUSED, (f"pods/{pod}",), turn.digest)
    return None


class _Line(NamedTuple):
    """A command line of kubectl that is none of its mistakes: its command, its token and what it is about."""

    path: str
    token: str
    aims: tuple[str, ...]


def _of_kubectl(turn: Turn) -> Step:
    line = _line(turn.text, turn.stdin)
    if line is None:
        return Step(turn.at_ns, "kubectl::", turn.writes, True, (), turn.digest)
    path = line.path
    wrong = turn.exit_code not in (0, INTERRUPTED) and path not in _ASKING
    if path in ("exec", "attach", "cp", "debug", "port-forward"):
        wrong = turn.exit_code in _MISUSED or turn.answer.startswith(("error:", "Error from server"))
    return Step(turn.at_ns, line.token, turn.writes, wrong, line.aims, turn.digest)


@lru_cache(maxsize=1024)  # a run is measured again with every step of it
def _line(text: str, stdin: str) -> _Line | None:
    """What a command line says; None if kubectl does not understand it."""
    try:
        words = shlex.split(text)
        path, command, rest = locate(words[1:] if words[:1] == ["kubectl"] else words)
        arguments = parse(path, rest, command.flags)
    except (ValueError, KubectlError):
        return None
    objects = _objects(path, arguments)
    aims = tuple(f"{resource}/{name or _EVERYTHING}" for resource, name in [*objects, *_manifests(stdin)])
    return _Line(path, _token(path, arguments, objects), aims)


def _objects(path: str, arguments: Arguments) -> list[tuple[str, str]]:
    """What a command is about: resources and names; the name is empty where all are meant."""
    words = arguments.positional if arguments.dash < 0 else arguments.positional[: arguments.dash]
    verb = path.partition(" ")[0]
    if verb in ("logs", "exec", "attach", "debug", "port-forward"):
        words = [word if "/" in word else f"pods/{word}" for word in words[:1]]
    if verb in ("cordon", "uncordon", "drain", "taint"):
        words = [f"nodes/{word}" for word in words if "=" not in word and not word.endswith("-") and word not in _NODES]
    if verb == "top":
        words = [path.partition(" ")[2] + "s", *words]
    slashed = [word.split("/", 1) for word in words if "/" in word and "=" not in word]
    if slashed:
        return [_object(plural_of(kind), name) for kind, name in slashed]
    if not words:
        return []
    names = [word for word in words[1:] if "=" not in word]
    return [_object(plural_of(one), name) for one in words[0].split(",") for name in names or [""]]


def _manifests(stdin: str) -> list[tuple[str, str]]:
    """Objects of manifests on standard input, as far as they can be read."""
    if not stdin:
        return []
    try:
        found = [one for one in yaml.safe_load_all(stdin) if isinstance(one, dict)]
        return [_object(plural_of(str(one["kind"])), str(one["metadata"]["name"])) for one in found if "kind" in one]
    except (yaml.YAMLError, KeyError, TypeError, RecursionError, ValueError):
        return []


_NODES = ("node", "nodes", "no")


def _object(resource: str, name: str) -> tuple[str, str]:
    return resource, workload_of(name) if resource == "pods" else name


def _token(path: str, arguments: Arguments, objects: list[tuple[str, str]]) -> str:
    resource, name = objects[0] if objects else ("", "")
    verb = path.partition(" ")[0]
    if verb in ("get", "describe", "wait") or path in ("rollout status", "rollout history"):
        whole = verb == "describe" or any(value.startswith(("yaml", "json")) for value in _formats(arguments))
        if resource == "events":
            return "list::events"
        return f"show::{resource}::{name or _EVERYTHING}" if name or whole else f"list::{resource}"
    if verb == "events":
        return "list::events"
    if verb in ("logs", "top"):
        return f"logs::{name}" if verb == "logs" else f"top::{resource}"
    if verb in ("exec", "attach", "cp", "debug", "port-forward"):
        return f"exec::{name}"
    return "::".join(filter(None, (path.replace(" ", "-"), resource, name)))


def _formats(arguments: Arguments) -> list[str]:
    return [value for flag, value in arguments.order if flag == "output"]


def _of_http(turn: Turn) -> Step:
    call = http.read(turn.text)
    path = call["target"].partition("?")[0]
    parts = [part for part in path.split("/") if part]
    wrong = turn.exit_code not in (0, INTERRUPTED)
    for piece, token in _STORES.items():
        if "proxy" in parts and piece in path:
            return Step(turn.at_ns, token, turn.writes, wrong, (), turn.digest)
    parts = parts[2 if parts[:1] == ["api"] else 3 :]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    resource, name, part = (*parts, "", "", "")[:3]
    resource, name = _object(resource, name)
    if turn.writes:
        token = "::".join(filter(None, (call["method"].lower(), resource, name)))
    elif part == "log":
        token = f"logs::{name}"
    elif resource == "events":
        token = "list::events"
    else:
        token = f"show::{resource}::{name}" if name else f"list::{resource}"
    return Step(turn.at_ns, token, turn.writes, wrong, (f"{resource}/{name}",) if name else (), turn.digest)
