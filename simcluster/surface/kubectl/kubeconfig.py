"""`kubectl config`: the one context there is."""

from __future__ import annotations

from dataclasses import dataclass

from simcluster.engine import Shared
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import OUTPUT, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter
from simcluster.surface.kubectl.printers.yaml import to_yaml


@dataclass(frozen=True)
class KubeConfig(Shared):
    """The file that kubectl reads: one context, which is the current one.

    Attributes:
        context, cluster, user: their names.
        server: URL of the API server.
        certificate_authority: path of its certificate; empty shows none.
    """

    context: str = "simcluster"
    cluster: str = "simcluster"
    user: str = "admin"
    server: str = "https://127.0.0.1:6443"
    certificate_authority: str = ""


VIEW_FLAGS = (*OUTPUT, switch("flatten"), switch("minify"), switch("raw"), switch("merge", default="true"))
CONTEXTS_FLAGS = (switch("no-headers"), Flag("output", "o"))


def check_context(arguments: Arguments, config: KubeConfig) -> None:
    """Refuse another context than the one there is. Raises KubectlError."""
    wanted = arguments.text("context")
    if wanted and wanted != config.context:
        raise KubectlError(f"Error in configuration: context was not found for specified context: {wanted}")


def view(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config view`."""
    known = invocation.config
    context = {"cluster": known.cluster, "user": known.user}
    if invocation.namespace != "default":
        context["namespace"] = invocation.namespace
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
    form = arguments.text("output")
    if form not in ("", "yaml", "json"):
        raise plain(
            f'unable to match a printer suitable for the output format "{form}", allowed formats are: json,yaml'
        )
    invocation.write(to_json(config) if form == "json" else to_yaml(config))


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
    if not arguments.on("no-headers"):
        writer.row(["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"])
    namespace = "" if invocation.namespace == "default" else invocation.namespace
    writer.row(["*", known.context, known.cluster, known.user, namespace])
    invocation.write(writer.flush())


def use_context(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config use-context`."""
    name = arguments.positional[0] if arguments.positional else ""
    if name != invocation.config.context:
        raise plain(f'no context exists with the name: "{name}"')
    invocation.line(f'Switched to context "{name}".')
