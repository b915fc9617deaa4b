"""`kubectl drain`: cordons a node and evicts its pods."""

from __future__ import annotations

from simcluster.api.objects import Json, controller_of, name_of, namespace_of
from simcluster.engine import SECOND
from simcluster.surface.kubectl import cordon
from simcluster.surface.kubectl.errors import KubectlError, StatusError
from simcluster.surface.kubectl.flags import DRY_RUN, SELECTOR, Arguments, Flag, dry_run, switch
from simcluster.surface.kubectl.invocation import STEP_NS, Failures, Invocation, query_of

FLAGS = (
    DRY_RUN,
    SELECTOR,
    Flag("chunk-size", kind="int", default="500"),
    switch("delete-emptydir-data"),
    switch("disable-eviction"),
    switch("force"),
    Flag("grace-period", kind="int", default="-1"),
    switch("ignore-daemonsets"),
    Flag("pod-selector"),
    Flag("skip-wait-for-delete-timeout", kind="int", default="0"),
    Flag("timeout", kind="duration", default="0s"),
)

#: Pause before an eviction that a disruption budget refused is tried again.
_RETRY_NS = 5 * SECOND
_FOREVER_NS = 24 * 3600 * SECOND


class _Chosen:
    """Which pods of a node go, which stay, and why draining must stop."""

    def __init__(self) -> None:
        self.going: list[Json] = []
        self.errors: dict[str, list[str]] = {}
        self.warnings: dict[str, list[str]] = {}


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl drain`."""
    failures = Failures()
    nodes = cordon.nodes(invocation, arguments, failures)
    failures.raise_all()
    mode = dry_run(arguments)
    for node in nodes:
        cordon.mark(invocation, node, mode, unschedulable=True)
    drained: list[str] = []
    problems: list[str] = []
    for node in nodes:
        name = name_of(node)
        try:
            _drain(invocation, arguments, name, mode)
        except KubectlError as error:
            problems.append(error.inner)
            listed = error.inner if "\n" not in error.inner else "[" + ", ".join(error.inner.split("\n")) + "]"
            invocation.note(f'error: unable to drain node "{name}" due to error: {listed}, continuing command...')
            continue
        drained.append(name)
        word = {"none": "", "client": " (dry run)", "server": " (server dry run)"}[mode]
        invocation.line(f"node/{name} drained{word}")
    if problems:
        pending = [name_of(node) for node in nodes if name_of(node) not in drained]
        invocation.note("There are pending nodes to be drained:\n" + "\n".join(f" {name}" for name in pending))
        raise KubectlError("\n".join(problems))


def _drain(invocation: Invocation, arguments: Arguments, node: str, mode: str) -> None:
    query = query_of(fieldSelector=f"spec.nodeName={node}", labelSelector=arguments.text("pod-selector"), limit=500)
    chosen = _choose(invocation, arguments, invocation.items("/api/v1/pods", query))
    if chosen.errors:
        raise KubectlError("\n".join(f"{why}: {', '.join(names)}" for why, names in chosen.errors.items()))
    if chosen.warnings:
        listed = "; ".join(f"{why}: {', '.join(names)}" for why, names in chosen.warnings.items())
        invocation.note(f"Warning: {listed}")
    if mode != "none":
        for pod in chosen.going:
            invocation.line(
                f"evicting pod {namespace_of(pod)}/{name_of(pod)} ({'server ' if mode == 'server' else ''}dry run)"
            )
        return
    _Evictions(invocation, arguments, node).evict(chosen.going)


def _choose(invocation: Invocation, arguments: Arguments, pods: list[Json]) -> _Chosen:
    chosen = _Chosen()
    for pod in pods:
        error, warning, goes = _verdict(invocation, arguments, pod)
        shown = f"{namespace_of(pod)}/{name_of(pod)}"
        if error:
            chosen.errors.setdefault(error, []).append(shown)
        if warning:
            chosen.warnings.setdefault(warning, []).append(shown)
        if goes:
            chosen.going.append(pod)
    return chosen


def _verdict(invocation: Invocation, arguments: Arguments, pod: Json) -> tuple[str, str, bool]:
    """Error, warning, and whether the pod goes. Source: k8s.io/kubectl/pkg/drain/filters.go."""
    if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {}):
        return "", "", False
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    owner = controller_of(pod)
    if owner is not None and owner["kind"] == "DaemonSet" and not finished:
        if arguments.on("ignore-daemonsets"):
            return "", "ignoring DaemonSet-managed Pods", False
        return "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", "", False
    warning = ""
    local = any("emptyDir" in volume for volume in pod["spec"].get("volumes") or ())
    if local and not finished:
        if not arguments.on("delete-emptydir-data"):
            return "cannot delete Pods with local storage (use --delete-emptydir-data to override)", "", False
        warning = "deleting Pods with local storage"
    if owner is None and not finished:
        if not arguments.on("force"):
            return "cannot delete cannot delete Pods that declare no controller (use --force to override)", "", False
        warning = "deleting Pods that declare no controller"
    return "", warning, True


class _Evictions:
    """Evicts pods and waits until they are gone."""

    def __init__(self, invocation: Invocation, arguments: Arguments, node: str) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.node = node
        self.timeout_ns = arguments.duration_ns("timeout") or _FOREVER_NS
        self.deadline = invocation.clock.now + self.timeout_ns

    def evict(self, pods: list[Json]) -> None:
        """Evict them all. Raises KubectlError at the timeout."""
        waiting = {f"{namespace_of(pod)}/{name_of(pod)}": pod for pod in pods}
        retry: dict[str, int] = dict.fromkeys(waiting, self.invocation.clock.now)
        going: dict[str, Json] = {}
        while waiting or going:
            for key in list(waiting):
                if retry[key] <= self.invocation.clock.now and self._try(waiting[key]):
                    going[key] = waiting.pop(key)
                elif key in waiting and retry[key] <= self.invocation.clock.now:
                    retry[key] = self.invocation.clock.now + _RETRY_NS
            for key in [key for key, pod in going.items() if self._gone(pod)]:
                pod = going.pop(key)
                self.invocation.line(f"pod/{name_of(pod)} evicted")
            if not waiting and not going:
                return
            if self.invocation.clock.now >= self.deadline:
                self._give_up([*waiting.values(), *going.values()])
            self.invocation.clock.advance(min(STEP_NS, self.deadline - self.invocation.clock.now))

    def _try(self, pod: Json) -> bool:
        namespace, name = namespace_of(pod), name_of(pod)
        self.invocation.line(f"evicting pod {namespace}/{name}")
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        options: Json = {}
        if self.arguments.number("grace-period") >= 0:
            options["gracePeriodSeconds"] = self.arguments.number("grace-period")
        try:
            if self.arguments.on("disable-eviction"):
                self.invocation.ask("DELETE", path, body={"apiVersion": "v1", "kind": "DeleteOptions", **options})
            else:
                body = {
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": {"name": name, "namespace": namespace},
                    "deleteOptions": options,
                }
                self.invocation.ask("POST", f"{path}/eviction", body=body)
        except StatusError as error:
            if error.reason == "NotFound":
                return True
            if error.reason != "TooManyRequests":
                raise KubectlError(f'error when evicting pods/"{name}" -n "{namespace}": {error.inner}') from None
            self.invocation.note(
                f'error when evicting pods/"{name}" -n "{namespace}" (will retry after 5s): {error.message}'
            )
            return False
        return True

    def _gone(self, pod: Json) -> bool:
        path = f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}"
        try:
            present = self.invocation.get(path)
        except StatusError as error:
            return error.reason == "NotFound"
        return bool(present["metadata"]["uid"] != pod["metadata"]["uid"])

    def _give_up(self, pods: list[Json]) -> None:
        seconds = self.timeout_ns // SECOND
        pod = pods[0]
        why = f'error when evicting pods/"{name_of(pod)}" -n "{namespace_of(pod)}": global timeout reached: {seconds}s'
        self.invocation.note(f'There are pending pods in node "{self.node}" when an error occurred: {why}')
        for pending in pods:
            self.invocation.note(f"pod/{name_of(pending)}")
        raise KubectlError(why)
