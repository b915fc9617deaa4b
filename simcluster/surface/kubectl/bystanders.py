"""Verbs that need what is not here: a local port, plug-ins, a shell to complete for; and kustomize.

They check their arguments as the real ones do, and then refuse, or block for a while.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.surface.kubectl import kustomize
from simcluster.surface.kubectl.errors import plain, usage
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.yaml import to_yaml

PROXY_FLAGS = (
    Flag("accept-hosts"),
    Flag("accept-paths"),
    Flag("address", default="127.0.0.1"),
    Flag("api-prefix", default="/"),
    switch("append-server-path"),
    switch("disable-filter"),
    Flag("keepalive", kind="duration", default="0s"),
    Flag("port", "p", "int", "8001"),
    Flag("reject-methods"),
    Flag("reject-paths"),
    Flag("unix-socket", "u"),
    Flag("www", "w"),
    Flag("www-prefix", "P"),
)
KUSTOMIZE_FLAGS = (
    switch("as-current-user"),
    switch("enable-alpha-plugins"),
    switch("enable-helm"),
    Flag("env", "e", "array"),
    Flag("load-restrictor", default="LoadRestrictionsRootOnly"),
    Flag("mount", kind="array"),
    switch("network"),
    Flag("output", "o"),
)
PLUGIN_FLAGS = (switch("name-only"),)

#: How long a command that blocks for ever lets the simulated world live on when nobody interrupts it.
BLOCKED_NS = 30 * SECOND


def block(invocation: Invocation) -> None:
    """Let the world live on until somebody interrupts the command, or for 30 simulated seconds."""
    deadline = None if invocation.interruptible else invocation.clock.now + BLOCKED_NS
    while deadline is None or invocation.clock.now < deadline:
        invocation.clock.advance(SECOND)


def proxy(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl proxy`: says where it listens. Who owns the terminal carries what comes there to the API server."""
    port = arguments.number("port")
    invocation.line(f"Starting to serve on {arguments.text('address')}:{port}")
    block(invocation)


def build_kustomization(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl kustomize DIR`."""
    words = arguments.positional
    if len(words) > 1:
        raise plain("specify one path to kustomization.yaml")
    built = kustomize.build(invocation.files, words[0] if words else ".", legacy=True)
    invocation.write("---\n".join(to_yaml(obj) for obj in built))


def plugin_list(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl plugin list`."""
    raise plain("unable to find any kubectl plugins in your PATH")


def completion(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl completion SHELL`."""
    words = arguments.positional
    if not words:
        raise usage("completion", "Shell not specified.")
    if len(words) > 1:
        raise usage("completion", "Too many arguments. Expected only the shell type.")
    if words[0] not in ("bash", "fish", "powershell", "zsh"):
        raise usage("completion", f'Unsupported shell type "{words[0]}".')
    raise plain("there is no shell here to complete commands for")
