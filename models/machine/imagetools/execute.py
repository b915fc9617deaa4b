"""Commands executed inside a running container, as `kubectl exec` and exec probes do.

They see the container's environment, its mounted files and its network, and end at once: the
world does not move while they run. `timed` says how long they would have taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.models.machine.container import Container
from simcluster.models.machine.imagefacts import facts_of
from simcluster.models.machine.imagetools.call import FOREVER_NS, Outcome, ToolCall
from simcluster.models.machine.imagetools.registry import TOOLS, image_tool
from simcluster.models.machine.shell.place import ContainerPlace
from simcluster.models.userland.bare import located
from simcluster.models.userland.immediate import ImmediateRunner
from simcluster.models.userland.lexer import Code
from simcluster.models.userland.runner import SHELLS
from simcluster.models.userland.stream import Stream

#: Builtins of the shell that images also have as programs of their own.
_AS_PROGRAMS = ("kill", "pwd")
#: What every process of an image finds (the path of the official busybox image).
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Exit status of a command that was killed (128 + SIGKILL).
_KILLED = 137


class Executed(NamedTuple):
    """What a command gave, and how long it took in nanoseconds."""

    result: Outcome
    delay_ns: int = 0


def run(container: Container, argv: Sequence[str], stdin: str = "") -> Outcome | None:
    """Run a command in a container; None if the image has no such program."""
    executed = timed(container, argv, stdin)
    return None if executed is None else executed.result


def timed(container: Container, argv: Sequence[str], stdin: str = "", limit_ns: int | None = None) -> Executed | None:
    """Run a command in a container; None if the image has no such program.

    Args:
        limit_ns: then nobody waits for it any more: it has printed what it has printed, and took longer than that.
            By default that of `ImmediateRunner`.
    """
    limit_ns = ImmediateRunner.LIMIT_NS if limit_ns is None else limit_ns
    facts = facts_of(container.spec.image)
    if not argv or (facts is not None and facts.base == "none"):
        return None
    call = ToolCall(container, list(argv), environment_of(container), stdin, now_ns=container.sim.now)
    outcome = _run(call, limit_ns)
    if outcome is None:
        return None
    if outcome.delay_ns > limit_ns:
        printed = outcome[:2] if outcome.delay_ns >= FOREVER_NS else ("", "")
        outcome = Outcome(*printed, _KILLED, limit_ns + 1)
    return Executed(Outcome(outcome.stdout, outcome.stderr, outcome.code), outcome.delay_ns)


def environment_of(container: Container) -> dict[str, str]:
    """Variables of a process in the container: the image's, the pod's name, then the pod's own.

    Source: the runtime sets PATH and HOSTNAME; kubelet adds the rest (makeEnvironmentVariables).
    """
    return {"PATH": _PATH, "HOSTNAME": container.sandbox.pod_name} | container.spec.environment | {"HOME": "/root"}


def _run(call: ToolCall, limit_ns: int) -> Outcome | None:
    place = ContainerPlace(call.container, call.argv)
    is_file = "/" in call.argv[0] and call.files.is_file(call.path(call.argv[0]))
    own = None if is_file or call.name in SHELLS else image_tool(call)
    if own is not None:
        return own
    if not (
        is_file
        or call.name in SHELLS
        or call.name in _AS_PROGRAMS
        or located(place.face, call.name, tuple(TOOLS), place.absent)
    ):
        return None
    code: Code = (("cmd", (), tuple((("lit", word, True),) for word in call.argv), (), 1),)
    runner = ImmediateRunner(place, call.now_ns, limit_ns)
    process = runner.launch(code, dict(call.env), [], "sh")
    process.fds[0] = ("in", Stream(call.stdin))
    outcome = runner.finish()
    return outcome if runner.code is not None else outcome._replace(delay_ns=FOREVER_NS)
