"""What a command is to an episode's clock: a read, a write, or a look inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from simcluster.surface.kubectl.errors import KubectlError
from simcluster.surface.kubectl.kubectl import locate

Cost = Literal["read", "write", "look"]

_READS = (
    "",
    "api-resources",
    "api-versions",
    "apply view-last-applied",
    "auth",
    "cluster-info",
    "completion",
    "config",
    "describe",
    "diff",
    "events",
    "explain",
    "get",
    "kustomize",
    "logs",
    "options",
    "plugin",
    "rollout history",
    "rollout status",
    "top",
    "version",
    "wait",
)
_LOOKS = ("attach", "cp", "debug", "exec", "port-forward", "proxy")


def verb_cost(argv: Sequence[str]) -> Cost:
    """Classify a command line (without the word `kubectl`).

    `look` is what opens a connection to a container or follows its log, `read` what only
    asks the API server, `write` everything else.

    >>> verb_cost(["-n", "shop", "get", "pods"]), verb_cost(["logs", "-f", "x"]), verb_cost(["scale"])
    ('read', 'look', 'write')
    """
    words = list(argv[1:]) if argv[:1] == ["kubectl"] else list(argv)
    try:
        path, _, rest = locate(words)
    except KubectlError:
        return "read"
    verb = path.partition(" ")[0]
    if verb in _LOOKS or (verb == "logs" and any(_follows(word) for word in rest)):
        return "look"
    if verb == "set" and "--list" in rest:
        return "read"
    return "read" if path in _READS or verb in _READS else "write"


def _follows(word: str) -> bool:
    if word.startswith("--"):
        return word in ("--follow", "--follow=true")
    return word.startswith("-") and "f" in word[1:] and word[1:2] not in ("c", "l", "n")
