"""`kubectl cluster-info dump`: what support asks for, as one long text.

Source: kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go. Left out: --output-directory, for
there is no folder to write to.
"""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import Arguments, Flag
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.yaml import to_yaml

FLAGS = (
    Flag("all-namespaces", "A", "bool", "false", "true"),
    Flag("namespaces", kind="list"),
    Flag("output", "o", default="json"),
    Flag("output-directory"),
    Flag("pod-running-timeout", kind="duration", default="20s"),
)
#: What is dumped of each namespace, in this order.
_COLLECTIONS = (
    ("/api/v1", "events"),
    ("/api/v1", "replicationcontrollers"),
    ("/api/v1", "services"),
    ("/apis/apps/v1", "daemonsets"),
    ("/apis/apps/v1", "deployments"),
    ("/apis/apps/v1", "replicasets"),
    ("/api/v1", "pods"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl cluster-info dump`."""
    form = arguments.text("output")
    if form not in ("json", "yaml"):
        raise plain(
            f'unable to match a printer suitable for the output format "{form}", allowed formats are: json,yaml'
        )
    if arguments.text("output-directory") not in ("", "-"):
        raise plain("there is no local folder here to write to; leave out --output-directory")
    dump = _Dump(invocation, form)
    dump.show(invocation.get("/api/v1/nodes"))
    for namespace in _namespaces(invocation, arguments):
        for prefix, plural in _COLLECTIONS:
            found = invocation.get(f"{prefix}/namespaces/{namespace}/{plural}")
            dump.show(found)
        for pod in found.get("items") or ():
            dump.logs(namespace, pod)


def _namespaces(invocation: Invocation, arguments: Arguments) -> list[str]:
    if arguments.on("all-namespaces"):
        return [item["metadata"]["name"] for item in invocation.items("/api/v1/namespaces")]
    named = arguments.texts("namespaces")
    return named or ["kube-system", invocation.namespace]


class _Dump:
    """Prints lists and logs."""

    def __init__(self, invocation: Invocation, form: str) -> None:
        self.invocation = invocation
        self.form = form

    def show(self, found: Json) -> None:
        self.invocation.write(to_json(found) if self.form == "json" else to_yaml(found))

    def logs(self, namespace: str, pod: Json) -> None:
        name, spec = pod["metadata"]["name"], pod["spec"]
        for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
            what = f"logs for container {container['name']} of pod {namespace}/{name}"
            self.invocation.line(f"==== START {what} ====")
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
            try:
                text = self.invocation.ask("GET", path, (("container", container["name"]),)).text
            except StatusError as error:
                text = f"Request log error: {error.message}\n"
            self.invocation.write(text or "")
            self.invocation.line(f"==== END {what} ====")
