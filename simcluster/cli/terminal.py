"""The terminal of `simcluster shell`: line editing, history, completion; lines of a pipe where there is no terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

from simcluster.surface.kubectl.commands import COMMANDS

#: Kinds that operators name most, as they type them.
_KINDS = (
    *("pods", "deployments", "services", "nodes", "events", "endpoints", "configmaps", "secrets", "statefulsets"),
    *("daemonsets", "replicasets", "jobs", "cronjobs", "ingresses", "networkpolicies", "persistentvolumeclaims"),
    *("persistentvolumes", "namespaces", "serviceaccounts", "roles", "rolebindings", "clusterroles"),
    *("clusterrolebindings", "storageclasses", "horizontalpodautoscalers", "poddisruptionbudgets", "leases"),
)
_SHORT = {
    "po": "pods",
    "deploy": "deployments",
    "svc": "services",
    "no": "nodes",
    "cm": "configmaps",
    "ns": "namespaces",
    "pod": "pods",
    "deployment": "deployments",
    "service": "services",
    "node": "nodes",
    "sts": "statefulsets",
    "ds": "daemonsets",
    "rs": "replicasets",
    "ing": "ingresses",
    "pvc": "persistentvolumeclaims",
    "pv": "persistentvolumes",
    "statefulset": "statefulsets",
    "daemonset": "daemonsets",
    "job": "jobs",
    "configmap": "configmaps",
    "secret": "secrets",
}
_OF_PODS = ("logs", "exec", "attach", "port-forward", "cp", "debug")

Names = Callable[[str, str], Iterable[str]]  # (kind, namespace or "") -> names


def candidates(line: str, verbs: Iterable[str], tools: Iterable[str], names: Names) -> list[str]:
    """What the last word of a line may become.

    Args:
        verbs: of the incident (`wait`, `finish`).
        tools: programs of the desk.
        names: names of objects.
    """
    part = re.split(r"\|\||&&|[|;&(]|\$\(", line)[-1].lstrip()
    words = part.split(" ")
    last, before = words[-1], [word for word in words[:-1] if word]
    if not before:
        whole = line == part
        return [name for name in (*(verbs if whole else ()), "kubectl", *tools) if name.startswith(last)]
    if before[0] in ("kubectl", "k"):
        return [each for each in _kubectl(before[1:], names) if each.startswith(last)]
    if before[0] == "ssh" and len(before) == 1:
        return [name for name in names("nodes", "") if name.startswith(last)]
    return []


def _kubectl(words: list[str], names: Names) -> Iterable[str]:
    namespace = ""
    plain: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-n", "--namespace"):
            if not rest:
                return names("namespaces", "")
            namespace = rest.pop(0)
        elif word in ("-l", "-o", "-f", "-c", "--selector", "--output"):
            rest = rest[1:]
        elif not word.startswith("-"):
            plain.append(word)
    if not plain:
        return COMMANDS
    command = COMMANDS.get(plain[0])
    if command is not None and command.subcommands and len(plain) == 1:
        return command.subcommands
    if plain[0] in _OF_PODS:
        return names("pods", namespace) if len(plain) == 1 else ()
    kinds = plain[1:] if command is None or not command.subcommands else plain[2:]
    if not kinds:
        return _KINDS
    return names(_SHORT.get(kinds[0], kinds[0]), namespace)


class Terminal:
    """Where lines come from.

    Args:
        complete: what the last word of a line may become.
    """

    def __init__(self, complete: Callable[[str], list[str]]) -> None:
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._session = _session(complete) if self.interactive else None

    def read(self, prompt: str) -> str | None:
        """One line; "" where somebody cancels it with Ctrl-C, None at the end of input."""
        if self._session is None:
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        try:
            return str(self._session.prompt(prompt))
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None

    def asks(self, question: str) -> bool:
        """Whether somebody agrees; a pipe does."""
        if self._session is None:
            return True
        answer = self.read(f"{question} [y/N] ")
        return (answer or "").strip().lower() in ("y", "yes")


def _session(complete: Callable[[str], list[str]]) -> Any:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import InMemoryHistory

    class Words(Completer):
        """Completion of the last word."""

        def get_completions(self, document: Document, complete_event: Any) -> Iterable[Completion]:
            """What fits."""
            text = document.text_before_cursor
            start = len(text) - max(text.rfind(" "), text.rfind("|"), text.rfind("(")) - 1
            for each in complete(text)[:200]:
                yield Completion(each, start_position=-start)

    return PromptSession(history=InMemoryHistory(), completer=Words(), complete_while_typing=False)
