"""Being attached to a container: waiting until it runs, then passing on what it writes until it ends.

There is no terminal: what a container writes is read from its log, which holds the same. An
attachment that nothing ends lasts 30 simulated seconds.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import Json, name_of, namespace_of
from simcluster.engine import SECOND, format_rfc3339
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import STEP_NS, Invocation, query_of
from simcluster.surface.kubectl.podchoice import choose_pod, default_container

FLAGS = (
    Flag("container", "c"),
    Flag("pod-running-timeout", kind="duration", default="1m0s"),
    switch("quiet", "q"),
    switch("stdin", "i"),
    switch("tty", "t"),
)

#: How long somebody stays attached to a container that does not end.
ATTACHED_NS = 30 * SECOND
NO_TERMINAL = "Unable to use a TTY - input is not a terminal or the right kind of file"
HINT = "If you don't see a command prompt, try pressing enter."

_STATUSES = ("containerStatuses", "ephemeralContainerStatuses", "initContainerStatuses")


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl attach`: what the container writes from now on."""
    words = arguments.positional
    if not words:
        raise plain("at least 1 argument is required for attach")
    if len(words) > 2:
        raise usage(
            "attach", f"expected fewer than three arguments: POD or TYPE/NAME or TYPE NAME, saw {len(words)}: {words}"
        )
    pod = choose_pod(invocation, "/".join(words))
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Succeeded", "Failed"):
        raise plain(f"cannot attach a container in a completed pod; current phase is {phase}")
    container = arguments.text("container") or default_container(invocation, pod, quiet=arguments.on("quiet"))
    attachment = Attachment(invocation, pod, container)
    attachment.greet(arguments)
    attachment.follow(since_ns=invocation.clock.now)


class Attachment:
    """One container somebody is attached to.

    Attributes:
        pod: its latest state.
    """

    def __init__(self, invocation: Invocation, pod: Json, container: str) -> None:
        self.invocation = invocation
        self.pod = pod
        self.container = container
        self.path = f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}"

    def greet(self, arguments: Arguments) -> None:
        """What is said when the connection stands."""
        if arguments.on("tty"):
            self.invocation.note(NO_TERMINAL)
        if not arguments.on("quiet") and "running" in self.state():
            self.invocation.note(HINT)

    def state(self) -> dict[str, Any]:
        """The container's state, as last seen."""
        status = self.pod.get("status") or {}
        for key in _STATUSES:
            for entry in status.get(key) or ():
                if entry["name"] == self.container:
                    found: dict[str, Any] = entry.get("state") or {}
                    return found
        return {}

    def begun(self) -> bool:
        """Look again; whether the container runs or has run."""
        self.pod = self.invocation.named(self.path)
        state = self.state()
        return "running" in state or "terminated" in state or self._over()

    def _over(self) -> bool:
        return (self.pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")

    def wait_until_begun(self, timeout_ns: int) -> None:
        """Let time pass until the container runs. Raises KubectlError at the timeout."""
        if not self.invocation.wait(self.begun, timeout_ns):
            raise plain("timed out waiting for the condition")

    def follow(self, *, since_ns: int = -1) -> None:
        """Print what the container writes, from its start or an instant on, until it ends."""
        deadline = self.invocation.clock.now + ATTACHED_NS
        shown = 0
        while True:
            self.begun()
            ended = "terminated" in self.state() or self._over()
            text = self._log(since_ns)
            self.invocation.write(text[shown:])
            shown = max(shown, len(text))
            if ended or self.invocation.clock.now >= deadline:
                return
            self.invocation.clock.advance(min(STEP_NS, deadline - self.invocation.clock.now))

    def _log(self, since_ns: int) -> str:
        since = format_rfc3339(since_ns) if since_ns >= 0 else ""
        query = query_of(container=self.container, sinceTime=since)
        try:
            response = self.invocation.ask("GET", f"{self.path}/log", query)
        except StatusError as error:
            if "terminated" in self.state():
                return ""
            raise error
        return response.text or ""
