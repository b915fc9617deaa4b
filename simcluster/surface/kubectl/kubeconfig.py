"""`kubectl config`: the one context there is, and what becomes of commands that name another server.

Left out: writing anything but the namespace of the context.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from simcluster.engine import Shared
from simcluster.surface.kubectl import klog
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import OUTPUT, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.output import Output
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter
from simcluster.surface.kubectl.printers.yaml import to_yaml

#: What the cluster is called by those who run it: a stage, a region and a number, as companies name theirs.
CLUSTER = "prod-eu-1"


@dataclass(frozen=True)
class KubeConfig(Shared):
    """The file that kubectl reads: one context, which is the current one.

    Attributes:
        context, cluster, user: their names.
        server: URL of the API server.
        certificate_authority: path of its certificate; empty shows none.
    """

    context: str = CLUSTER
    cluster: str = CLUSTER
    user: str = "admin"
    server: str = "https://127.0.0.1:6443"
    certificate_authority: str = ""


VIEW_FLAGS = (*OUTPUT, switch("flatten"), switch("minify"), switch("raw"), switch("merge", default="true"))
CONTEXTS_FLAGS = (switch("no-headers"), Flag("output", "o"))


SET_CONTEXT_FLAGS = (switch("current"),)
_TIMEOUT = re.compile(r"\d+(ns|us|µs|ms|s|m|h)?([\d.]+(ns|us|µs|ms|s|m|h))*")
#: Files that lead to this cluster: a user's own and the administrator's on a control plane.
_FILES = ("/.kube/config", "admin.conf", "kubeconfig", "super-admin.conf")
#: How often discovery is tried before a command gives up.
_ATTEMPTS = 5


def check_context(arguments: Arguments, config: KubeConfig) -> None:
    """Refuse another context, cluster or user than the one there is. Raises KubectlError."""
    wanted = arguments.text("context")
    if wanted and wanted != config.context:
        raise KubectlError(f"Error in configuration: context was not found for specified context: {wanted}")
    if "cluster" not in arguments.own and arguments.text("cluster") not in ("", config.cluster):
        raise plain(f'no server found for cluster "{arguments.text("cluster")}"')
    if "user" not in arguments.own and arguments.text("user") not in ("", config.user):
        raise plain(f'auth info "{arguments.text("user")}" does not exist')
    file = arguments.text("kubeconfig")
    if file and file != "/dev/null" and not file.endswith(_FILES):
        raise plain(f"stat {file}: no such file or directory")
    if not arguments.text("as") and (arguments.texts("as-group") or arguments.text("as-uid")):
        raise plain(f"requesting uid, groups or user-extra for {config.user} without impersonating a user")
    if not _TIMEOUT.fullmatch(arguments.text("request-timeout")):
        raise plain(
            "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a "
            "corresponding time unit (e.g. 1s | 2m | 3h)"
        )


def check_server(arguments: Arguments, config: KubeConfig, now_ns: int) -> None:
    """Refuse as a dial does when nobody listens where the command wants to go. Raises KubectlError."""
    wanted = arguments.text("server")
    if not wanted and arguments.text("kubeconfig") == "/dev/null":
        wanted = "http://localhost:8080"
    if not wanted:
        return
    url = urlsplit(wanted if "://" in wanted else f"http://{wanted}")
    known = urlsplit(config.server)
    if (url.hostname, url.port) == (known.hostname, known.port):
        return
    given = arguments.text("request-timeout")
    timeout = "32s" if given == "0" else given if not given.isdigit() else f"{given}s"
    dial = f"dial tcp {'127.0.0.1' if url.hostname == 'localhost' else url.hostname}:{url.port or 443}"
    asked = f"{url.scheme}://{url.netloc}/api?timeout={timeout}"
    why = f'couldn\'t get current server API group list: Get \\"{asked}\\": {dial}: connect: connection refused'
    line = klog.line(now_ns, "E", "memcache.go:265", f'"Unhandled Error" err="{why}"\n')
    last = f"The connection to the server {url.netloc} was refused - did you specify the right host or port?"
    raise KubectlError(line * _ATTEMPTS + last)


def view(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config view`."""
    known = invocation.config
    context = {"cluster": known.cluster, "user": known.user}
    if invocation.context_namespace != "default":
        context["namespace"] = invocation.context_namespace
    cluster = {"server": known.server}
    if known.certificate_authority:
        cluster["certificate-authority"] = known.certificate_authority
    config = {
        "apiVersion": "v1",
        "clusters": [{"cluster": cluster, "name": known.cluster}],
        "contexts": [{"context": context, "name": known.context}],
        "current-context": known.context,
        "kind": "Config",
        "preferences": {},
        "users": [{"name": known.user, "user": {"token": "REDACTED"}}],
    }
    output = Output(arguments, invocation.files)
    invocation.write(output.text([config], as_list=False, names=["config"]) if output.format else to_yaml(config))


def current_context(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config current-context`."""
    invocation.line(invocation.config.context)


def get_contexts(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config get-contexts`."""
    known = invocation.config
    if arguments.text("output") == "name":
        invocation.line(known.context)
        return
    writer = ColumnWriter()
    unknown = [name for name in arguments.positional if name != known.context]
    if unknown:
        writer.row(["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"])
        invocation.write(writer.flush())
        raise plain(f"context {unknown[0]} not found")
    if not arguments.on("no-headers"):
        writer.row(["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"])
    namespace = "" if invocation.context_namespace == "default" else invocation.context_namespace
    writer.row(["*", known.context, known.cluster, known.user, namespace])
    invocation.write(writer.flush())


def use_context(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config use-context`."""
    name = arguments.positional[0] if arguments.positional else ""
    if name != invocation.config.context:
        raise plain(f'no context exists with the name: "{name}"')
    invocation.line(f'Switched to context "{name}".')


def set_context(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config set-context`: changes the namespace of the one context."""
    words = arguments.positional
    if len(words) > 1 or (not words and not arguments.on("current")):
        raise plain(f"Unexpected args: {words}" if words else "you must specify a non-empty context name or --current")
    if words and arguments.on("current"):
        raise plain("you cannot specify both a context name and --current")
    name = words[0] if words else invocation.config.context
    if name != invocation.config.context:
        raise plain(f"there is only one context here, {invocation.config.context}; no other can be made")
    if arguments.given("namespace"):
        invocation.context_namespace = arguments.text("namespace") or "default"
    invocation.line(f'Context "{name}" modified.')


def get_clusters(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config get-clusters`."""
    invocation.line(f"NAME\n{invocation.config.cluster}")


def get_users(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config get-users`."""
    invocation.line(f"NAME\n{invocation.config.user}")


def refuse_to_write(invocation: Invocation, arguments: Arguments) -> None:
    """The verbs that would change the file."""
    raise plain("the configuration cannot be changed here, but for the namespace: config set-context --current")
