"""Verbs that need what is not here: a server on a local port, a file system, plug-ins, a shell to complete for.

They check their arguments as the real ones do, and then refuse, or block for a while.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.surface.kubectl.errors import plain, usage
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation

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
CP_FLAGS = (Flag("container", "c"), switch("no-preserve"), Flag("retries", kind="int", default="0"))
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
DUMP_FLAGS = (
    Flag("all-namespaces", "A", "bool", "false", "true"),
    Flag("namespaces", kind="list"),
    Flag("output", "o", default="json"),
    Flag("output-directory"),
    Flag("pod-running-timeout", kind="duration", default="20s"),
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
    """`kubectl proxy`: says where it listens; nobody can connect there."""
    port = arguments.number("port")
    invocation.line(f"Starting to serve on {arguments.text('address')}:{port}")
    block(invocation)


def cp(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl cp`: there is no folder to copy from or to."""
    words = arguments.positional
    if len(words) != 2:
        raise plain("source and destination are required")
    if not any(":" in word for word in words):
        raise plain("one of src or dest must be a local file specification")
    if all(":" in word for word in words):
        raise plain(f"one of src or dest must be a local file specification: {words}")
    raise plain(
        "there is no local folder here to copy files from or to; read a file with: kubectl exec POD -- cat FILE"
    )


def kustomize(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl kustomize`: not built in."""
    raise plain("kustomize is not available in this kubectl; give finished manifests to -f")


def dump(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl cluster-info dump`: too much for one answer."""
    raise plain("cluster-info dump is not available in this kubectl; use get all -A -o json, describe and logs")


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
