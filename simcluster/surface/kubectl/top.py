"""`kubectl top pod|node`, from the metrics API."""

from __future__ import annotations

from simcluster.api import quantity
from simcluster.api.objects import Json
from simcluster.engine import SECOND, parse_rfc3339
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import ALL_NAMESPACES, SELECTOR, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation, query_of
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter

_COMMON = (
    SELECTOR,
    switch("no-headers"),
    Flag("sort-by"),
    switch("use-protocol-buffers", default="true"),
)
POD_FLAGS = (*_COMMON, ALL_NAMESPACES, switch("containers"), Flag("field-selector"), switch("sum"))
NODE_FLAGS = (*_COMMON, switch("show-capacity"))

_API = "/apis/metrics.k8s.io/v1beta1"
_MIB = 1 << 20
#: A pod older than this ought to have metrics. Source: k8s.io/kubectl/pkg/cmd/top, metricsCreationDelay.
_METRICS_DELAY_NS = 120 * SECOND


class _Use:
    """CPU in millicores and memory in bytes."""

    def __init__(self, cpu_m: int = 0, memory: int = 0) -> None:
        self.cpu_m = cpu_m
        self.memory = memory

    def plus(self, other: _Use) -> _Use:
        """The sum."""
        return _Use(self.cpu_m + other.cpu_m, self.memory + other.memory)


def _use(usage: Json) -> _Use:
    return _Use(quantity.to_millicores(usage.get("cpu", "0")), quantity.to_bytes(usage.get("memory", "0")))


def _check(invocation: Invocation, arguments: Arguments, what: str) -> None:
    if arguments.text("sort-by") not in ("", "cpu", "memory"):
        raise plain("--sort-by accepts only cpu or memory")
    if len(arguments.positional) > 1:
        raise usage(f"top {what}", f"{what} [NAME | -l label]")
    if arguments.positional and arguments.text("selector"):
        raise plain("only one of NAME or selector can be provided")
    groups = {resource.group for resource in invocation.discovery.all(invocation.send_free)}
    if "metrics.k8s.io" not in groups:
        try:
            invocation.get(_API)
        except StatusError:
            raise plain("Metrics API not available") from None


def pods(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl top pod`."""
    _check(invocation, arguments, "pod")
    everywhere = arguments.on("all-namespaces")
    path = f"{_API}/pods" if everywhere else f"{_API}/namespaces/{invocation.namespace}/pods"
    if arguments.positional:
        measured = [invocation.get(f"{path}/{arguments.positional[0]}")]
    else:
        query = query_of(labelSelector=arguments.text("selector"), fieldSelector=arguments.text("field-selector"))
        measured = invocation.items(path, query)
    if not measured:
        _explain_nothing(invocation, arguments, everywhere)
        where = "" if everywhere else f" in {invocation.namespace} namespace."
        invocation.note(f"No resources found{where}")
        return
    totals = [(pod, _total(pod)) for pod in measured]
    totals.sort(key=_order(arguments.text("sort-by")))
    writer = ColumnWriter()
    per_container = arguments.on("containers")
    if not arguments.on("no-headers"):
        head = ["POD", "NAME"] if per_container else ["NAME"]
        columns = [*head, "CPU(cores)", "MEMORY(bytes)", ""]
        writer.row(["NAMESPACE", *columns] if everywhere else columns)
    for pod, total in totals:
        for row in _rows(pod, total, per_container):
            writer.row([pod["metadata"]["namespace"], *row] if everywhere else row)
    if arguments.on("sum"):
        _sum(writer, [total for _, total in totals], 1 + everywhere + per_container)
    invocation.write(writer.flush())


def _explain_nothing(invocation: Invocation, arguments: Arguments, everywhere: bool) -> None:
    """Refuse if there are pods that ought to be measured. Raises KubectlError."""
    path = "/api/v1/pods" if everywhere else f"/api/v1/namespaces/{invocation.namespace}/pods"
    query = query_of(labelSelector=arguments.text("selector"), fieldSelector=arguments.text("field-selector"))
    known = invocation.items(path, query)
    for pod in known:
        metadata = pod["metadata"]
        age_ns = invocation.clock.now - parse_rfc3339(metadata["creationTimestamp"])
        if age_ns > _METRICS_DELAY_NS:
            name = f"{metadata['namespace']}/{metadata['name']}"
            raise plain(f"Metrics not available for pod {name}, age: {_go_duration(age_ns)}")
    if known:
        raise plain("metrics not available yet")


def _go_duration(span_ns: int) -> str:
    """Whole seconds as Go prints a duration: `2m5s`, `1h0m5s`."""
    seconds = span_ns // SECOND
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{seconds % 60}s"


def _total(pod: Json) -> _Use:
    total = _Use()
    for container in pod.get("containers") or ():
        total = total.plus(_use(container.get("usage") or {}))
    return total


def _order(field: str) -> _Order:
    return _Order(field)


class _Order:
    """Sort key of `--sort-by`: the greediest first; by namespace and name otherwise."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __call__(self, entry: tuple[Json, _Use]) -> tuple[int, str, str]:
        metadata, use = entry[0]["metadata"], entry[1]
        amount = {"cpu": -use.cpu_m, "memory": -use.memory}.get(self.field, 0)
        return (amount, metadata.get("namespace", ""), metadata["name"])


def _rows(pod: Json, total: _Use, per_container: bool) -> list[list[str]]:
    name = pod["metadata"]["name"]
    if not per_container:
        return [[name, *_cells(total), ""]]
    containers = sorted(pod.get("containers") or (), key=_container_name)
    return [[name, container["name"], *_cells(_use(container.get("usage") or {})), ""] for container in containers]


def _container_name(container: Json) -> str:
    return str(container["name"])


def _cells(use: _Use) -> list[str]:
    return [f"{use.cpu_m}m", f"{use.memory // _MIB}Mi"]


def _sum(writer: ColumnWriter, uses: list[_Use], columns: int) -> None:
    total = _Use()
    for use in uses:
        total = total.plus(use)
    writer.row([*[""] * columns, "________", "________", ""])
    writer.row([*[""] * columns, *_cells(total), ""])


def nodes(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl top node`."""
    _check(invocation, arguments, "node")
    query = query_of(labelSelector=arguments.text("selector"))
    if arguments.positional:
        name = arguments.positional[0]
        measured = [invocation.get(f"{_API}/nodes/{name}")]
        known = [invocation.get(f"/api/v1/nodes/{name}")]
    else:
        measured = invocation.items(f"{_API}/nodes", query)
        known = invocation.items("/api/v1/nodes", query)
    if not measured:
        raise plain("metrics not available yet")
    kind = "capacity" if arguments.on("show-capacity") else "allocatable"
    capacity = {node["metadata"]["name"]: (node.get("status") or {}).get(kind) or {} for node in known}
    uses = [(node, _use(node.get("usage") or {})) for node in measured]
    uses.sort(key=_order(arguments.text("sort-by")))
    writer = ColumnWriter()
    if not arguments.on("no-headers"):
        writer.row(["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)", ""])
    for node, use in uses:
        name = node["metadata"]["name"]
        writer.row([name, *_shares(use, capacity.pop(name, {})), ""])
    for name in capacity:
        writer.row([name, *["<unknown>"] * 4, ""])
    invocation.write(writer.flush())


def _shares(use: _Use, capacity: Json) -> list[str]:
    cpu_m = quantity.to_millicores(capacity.get("cpu", "0"))
    memory = quantity.to_bytes(capacity.get("memory", "0"))
    cpu, used = _cells(use)
    return [
        cpu,
        f"{use.cpu_m * 100 // cpu_m}%" if cpu_m else "<unknown>",
        used,
        f"{use.memory * 100 // memory}%" if memory else "<unknown>",
    ]
