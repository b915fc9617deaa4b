"""An application that has lived: every change of its history is made, and idle time between them is skipped.

Changes are real ones, by API requests of those who made them; rollouts take place, pods are replaced and nodes boot.
Ages of changes are stretched to the age that is asked for, but no change begins before the one before it has settled.
Left out: users of those days, and what their requests left in counters, logs and stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcluster.api.objects import ApiObject, condition_status, name_of
from simcluster.apps.history import OLDEST_NS, YOUNGEST_NS, Change, History, history_of
from simcluster.engine import MINUTE, SECOND

if TYPE_CHECKING:
    from simcluster.world.world import World

#: A change has settled when all is well for so long; it must have after the second.
QUIET_NS, SETTLE_LIMIT_NS = 20 * SECOND, 20 * MINUTE
STEP_NS = 5 * SECOND
#: How long a node that is rebooted is left alone.
DOWN_NS = 3 * MINUTE
#: Before so many of the last changes others come to the cluster, unless manifests are applied among these.
LATE = 2
_WORKLOADS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps")


def live_through(world: World, app: str, namespace: str, age_ns: int) -> None:
    """Deploy an application so long ago, and let happen what has happened since.

    Raises:
        ValueError: a command of the history fails, or a change does not settle.
    """
    go_on(world, app, namespace, age_ns, begin(world, app, namespace, age_ns))


def begin(world: World, app: str, namespace: str, age_ns: int) -> int:
    """Deploy an application so long ago, and live through all of its history but the last changes.

    Returns:
        the instant at which it began, for `go_on`: in between others may have come to the cluster.

    Raises:
        ValueError: a command of the history fails, or a change does not settle.
    """
    assert YOUNGEST_NS <= age_ns <= OLDEST_NS, age_ns
    history, began_ns = history_of(world.catalog.folder(app)), world.sim.now
    world.prepare(app, namespace)
    _live(world, app, namespace, history.changes[: _early(history)], began_ns, age_ns)
    return began_ns


def go_on(world: World, app: str, namespace: str, age_ns: int, began_ns: int) -> None:
    """Live through the last changes, until the application is so old. Raises ValueError, as `begin`."""
    history = history_of(world.catalog.folder(app))
    _live(world, app, namespace, history.changes[_early(history) :], began_ns, age_ns)
    _wait(world, began_ns + age_ns)


def _early(history: History) -> int:
    """How many changes come before others come to the cluster: all that apply manifests, and all but the last two."""
    last_applied = max(index for index, change in enumerate(history.changes) if change.apply is not None)
    return max(last_applied + 1, len(history.changes) - LATE)


def _live(world: World, app: str, namespace: str, changes: Sequence[Change], began_ns: int, age_ns: int) -> None:
    folder = world.catalog.folder(app)
    oldest = history_of(folder).changes[0].age
    for change in changes:
        _wait(world, began_ns + age_ns - change.age * age_ns // oldest)
        _make(world, change, namespace, folder.text("manifests.yaml"))
        _settle(world, namespace)


def _wait(world: World, until_ns: int) -> None:
    if until_ns > world.sim.now:
        world.leap(until_ns - world.sim.now)


def _make(world: World, change: Change, namespace: str, today: str) -> None:
    if change.apply is not None:
        _do(world, change, namespace, f"apply -f - --field-manager={change.manager}", change.manifests(today))
    for line in change.kubectl:
        _do(world, change, namespace, line)
    if change.reboot:
        _do(world, change, namespace, f"drain {change.reboot} --ignore-daemonsets --delete-emptydir-data --force")
        world.machines[change.reboot].power.shut_down(reboot=True)
        world.run_for(DOWN_NS)  # by then the kubelet reports again
        _do(world, change, namespace, f"uncordon {change.reboot}")


def _do(world: World, change: Change, namespace: str, line: str, stdin: str = "") -> None:
    result = world.kubectl(change.user, namespace).run(line, stdin)
    if result.exit_code:
        raise ValueError(f"kubectl {line}: {result.stderr.strip()}")


def _settle(world: World, namespace: str) -> None:
    limit, well_ns = world.sim.now + SETTLE_LIMIT_NS, 0
    while well_ns < QUIET_NS:
        world.run_for(STEP_NS)
        trouble = _trouble(world, namespace)
        well_ns = 0 if trouble else well_ns + STEP_NS
        if world.sim.now > limit:
            raise ValueError(f"a change of the history does not settle: {trouble}")


def _trouble(world: World, namespace: str) -> str:
    """What is not as it should be; empty if all is."""
    store = world.api.store
    for node in store.objects("nodes"):
        if condition_status(node, "Ready") != "True":
            return f"node {name_of(node)} is not Ready"
    for resource in _WORKLOADS:
        for workload in store.objects(resource, namespace):
            if not _rolled_out(workload):
                return f"{resource} {name_of(workload)} is not rolled out"
    for pod in store.objects("pods", namespace):
        done = (pod.get("status") or {}).get("phase") == "Succeeded"
        if "deletionTimestamp" in pod["metadata"] or not (done or condition_status(pod, "Ready") == "True"):
            return f"pod {name_of(pod)} is not Ready"
    return ""


def _rolled_out(workload: ApiObject) -> bool:
    status, wanted = workload.get("status") or {}, workload["spec"].get("replicas", 0)
    if status.get("observedGeneration") != workload["metadata"]["generation"]:
        return False
    return bool(wanted == status.get("updatedReplicas", wanted) == status.get("availableReplicas", wanted))
