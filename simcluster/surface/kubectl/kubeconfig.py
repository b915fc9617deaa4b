"""`kubectl config`: the one context there is."""

from __future__ import annotations

from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import OUTPUT, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter
from simcluster.surface.kubectl.printers.yaml import to_yaml

CONTEXT = "simcluster"
SERVER = "https://127.0.0.1:6443"

VIEW_FLAGS = (*OUTPUT, switch("flatten"), switch("minify"), switch("raw"), switch("merge", default="true"))
CONTEXTS_FLAGS = (switch("no-headers"), Flag("output", "o"))


def check_context(arguments: Arguments) -> None:
    """Refuse another context than the one there is."""
    wanted = arguments.text("context")
    if wanted and wanted != CONTEXT:
        raise KubectlError(f"Error in configuration: context was not found for specified context: {wanted}")


def view(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config view`."""
    context = {"cluster": CONTEXT, "user": "admin"}
    if invocation.namespace != "default":
        context["namespace"] = invocation.namespace
    config = {
        "apiVersion": "v1",
        "clusters": [{"cluster": {"server": SERVER}, "name": CONTEXT}],
        "contexts": [{"context": context, "name": CONTEXT}],
        "current-context": CONTEXT,
        "kind": "Config",
        "preferences": {},
        "users": [{"name": "admin", "user": {"token": "REDACTED"}}],
    }
    form = arguments.text("output")
    if form not in ("", "yaml", "json"):
        raise plain(
            f'unable to match a printer suitable for the output format "{form}", allowed formats are: json,yaml'
        )
    invocation.write(to_json(config) if form == "json" else to_yaml(config))


def current_context(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config current-context`."""
    invocation.line(CONTEXT)


def get_contexts(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config get-contexts`."""
    if arguments.text("output") == "name":
        invocation.line(CONTEXT)
        return
    writer = ColumnWriter()
    if not arguments.on("no-headers"):
        writer.row(["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"])
    namespace = "" if invocation.namespace == "default" else invocation.namespace
    writer.row(["*", CONTEXT, CONTEXT, "admin", namespace])
    invocation.write(writer.flush())


def use_context(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl config use-context`."""
    name = arguments.positional[0] if arguments.positional else ""
    if name != CONTEXT:
        raise plain(f'no context exists with the name: "{name}"')
    invocation.line(f'Switched to context "{name}".')
