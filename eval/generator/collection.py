"""The suite `cloudopsbench`: types of another collection on components of its two applications, as many as it has.

Its 656 cases are 49 types (48 are here), each on so many components of one of two applications. Here each type is tried
on every component that fits (`proof/pairs`), and a stream chooses; no component comes again before all have come, and
when they are used up the cluster of an instance has another age. The page is what that collection asks. What was
changed in its cases is not all public, so instances have numbers of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from simcluster.engine.clock import DAY
from simcluster.engine.content import Library
from simcluster.engine.streams import Streams
from simcluster.eval.generator.suite import text_of
from simcluster.eval.proof.pairs import Pair, bare, fit, healthy, task_of
from simcluster.faults import registry
from simcluster.tasks.model import Diagnoses, Task, Ticket, resolve
from simcluster.world import World

PREFIX = "cloudopsbench"
BOUTIQUE, TRAINTICKET = "online-boutique", "train-ticket"
#: What its cases ask, by what is seen.
_PARTIAL, _OUTAGE, _RESTARTS, _SLOW, _DEGRADED = (
    "Partial Service Unreachability.",
    "Service Availability Disruption.",
    "Service abnormal restart.",
    "Service latency increased significantly",
    "Service quality degradation.",
)
#: How long after the last change somebody writes.
ASKED_AFTER = "90s"
#: Days that the cluster of an instance has lived, by equal chances.
AGES_D = (1, 3, 9, 21, 47, 90, 150, 240)
_SEED = 0


class Type(NamedTuple):
    """A type: its name there, on which application, in which of its folders, how many cases, and what they ask."""

    label: str
    app: str
    folder: str
    cases: int
    asks: str = _PARTIAL


def _types() -> Iterator[Type]:
    """Source: the folders and labels of the data set, 452 cases of Online Boutique and 204 of Train Ticket."""
    for (app, folder, asks), labels in _CASES.items():
        for label, cases in labels.items():
            yield Type(label, app, folder, cases, asks)


_CASES: dict[tuple[str, str, str], dict[str, int]] = {
    (BOUTIQUE, "admission", _PARTIAL): {
        "missing_service_account": 11,
        "namespace_cpu_quota_exceeded": 10,
        "namespace_memory_quota_exceeded": 11,
        "namespace_pod_quota_exceeded": 11,
        "namespace_service_quota_exceeded": 11,
        "namespace_storage_quota_exceeded": 4,
    },
    (BOUTIQUE, "scheduling", _PARTIAL): {
        "cpu_capacity_mismatch": 18,
        "memory_capacity_mismatch": 18,
        "node_affinity_mismatch": 24,
        "node_cordon_mismatch": 16,
        "node_selector_mismatch": 32,
        "pod_anti_affinity_conflict": 16,
        "pv_binding_occupied": 4,
        "pvc_access_mode_mismatch": 3,
        "pvc_capacity_mismatch": 3,
        "pvc_selector_mismatch": 3,
        "pvc_storage_class_mismatch": 3,
        "taint_toleration_mismatch": 24,
    },
    (BOUTIQUE, "startup", _PARTIAL): {
        "image_registry_dns_failure": 13,
        "incorrect_image_reference": 28,
        "missing_image_pull_secret": 18,
        "volume_mount_permission_denied": 3,
    },
    (BOUTIQUE, "runtime", _RESTARTS): {
        "liveness_probe_incorrect_port": 8,
        "liveness_probe_incorrect_protocol": 8,
        "liveness_probe_incorrect_timing": 5,
        "oom_killed": 9,
    },
    (BOUTIQUE, "runtime", _PARTIAL): {"readiness_probe_incorrect_port": 7, "readiness_probe_incorrect_protocol": 8},
    (BOUTIQUE, "service", _PARTIAL): {
        "service_env_var_address_mismatch": 8,
        "service_port_mapping_mismatch": 14,
        "service_protocol_mismatch": 8,
        "service_selector_mismatch": 24,
    },
    (BOUTIQUE, "performance", _SLOW): {"pod_cpu_overload": 11, "pod_network_delay": 10},
    (BOUTIQUE, "infrastructure", _OUTAGE): {
        "containerd_unavailable": 10,
        "kube_proxy_unavailable": 8,
        "kube_scheduler_unavailable": 11,
        "kubelet_unavailable": 11,
    },
    (BOUTIQUE, "infrastructure", _SLOW): {"node_network_delay": 4, "node_network_packet_loss": 4},
    (TRAINTICKET, "startup", _PARTIAL): {"missing_secret_binding": 24},
    (TRAINTICKET, "runtime", _PARTIAL): {
        "db_connection_exhaustion": 5,
        "db_read_only": 10,
        "deployment_zero_replicas": 17,
        "mysql_invalid_credentials": 24,
        "mysql_invalid_port": 22,
        "service_sidecar_port_conflict": 18,
    },
    (TRAINTICKET, "service", _PARTIAL): {"gateway_misroute": 19, "service_dns_resolution_failure": 18},
    (TRAINTICKET, "performance", _DEGRADED): {"pod_network_delay": 47},
}
TYPES = tuple(_types())
#: How many instances there are.
WHOLE = sum(one.cases for one in TYPES)


class Collection(NamedTuple):
    """So many instances, of every type before any comes again."""

    size: int = WHOLE

    @classmethod
    def parse(cls, text: str) -> Collection | None:
        """From `cloudopsbench` or `cloudopsbench:N`; None if it is no such name.

        Raises:
            ValueError: it is one, and wrong; tells the nearest that is right.

        >>> Collection.parse("cloudopsbench:49"), Collection.parse("lite")
        (Collection(size=49), None)
        """
        name, colon, count = text.partition(":")
        if name != PREFIX:
            return None
        if not colon:
            return cls()
        if not count.isdigit() or not 1 <= int(count) <= WHOLE:
            raise ValueError(f"write {PREFIX} or {PREFIX}:N with N from 1 to {WHOLE}, not {text!r}")
        return cls(int(count))


def numbered(size: int) -> list[tuple[Type, int]]:
    """The type of each instance and its number among those of the type: every type once, then every type again.

    >>> [(kind.label, number) for kind, number in numbered(len(TYPES) + 1)][0::len(TYPES)]
    [('missing_service_account', 0), ('missing_service_account', 1)]
    """
    most = max(one.cases for one in TYPES)
    every = [(one, number) for number in range(most) for one in TYPES if number < one.cases]
    return every[:size]


class _Known(NamedTuple):
    """What a type fits, and a healthy world of its application."""

    pairs: list[Pair]
    world: World


def instances(wanted: Collection, library: Library | None = None) -> Iterator[Task]:
    """The tasks of a collection, in order. Raises NotAnIncident, LookupError: a type fits nothing."""
    known: dict[Type, _Known] = {}
    worlds: dict[str, World] = {}
    for kind, number in numbered(wanted.size):
        if kind.app not in worlds:
            worlds[kind.app] = healthy(kind.app, _SEED, library)[1]
        if kind not in known:
            known[kind] = _Known(_components(kind, library), worlds[kind.app])
        yield _instance(kind, number, known[kind], library)


def _components(kind: Type, library: Library | None) -> list[Pair]:
    """What a type fits, in the order in which it is used."""
    pairs = list(fit(registry.load(kind.label, library).id, kind.app, _SEED, library).pairs)
    if not pairs:
        raise LookupError(f"{kind.label} fits nothing of {kind.app}")
    Streams(_SEED).stream(PREFIX, kind.app, kind.label).shuffle(pairs)
    seen: dict[str, int] = {}
    rounds: list[tuple[int, int, Pair]] = []
    for pair in pairs:  # a component once before any comes with other values
        key = str(pair.ref)
        seen[key] = seen.get(key, -1) + 1
        rounds.append((seen[key], len(rounds), pair))
    return [pair for _, _, pair in sorted(rounds, key=lambda one: one[:2])]


def _instance(kind: Type, number: int, known: _Known, library: Library | None) -> Task:
    stream = Streams(_SEED).stream(PREFIX, kind.app, kind.label, str(number))
    pair = known.pairs[number % len(known.pairs)]
    task = task_of(kind.app, pair, library)
    truth = resolve(task, known.world, library).truth
    claim = {"component": truth.component, "mechanism": truth.mechanism, "details": dict(truth.details)}
    system = kind.app.partition("-")[2] if kind.app == BOUTIQUE else kind.app.replace("-", "")
    return task.model_copy(
        update={
            "id": f"{PREFIX}-{system}-{kind.label.replace('_', '-')}-{number + 1:02d}",
            "incident": (bare(pair),),
            "ticket": Ticket.model_validate({"after": ASKED_AFTER, "text": kind.asks}),
            "age": DAY * stream.choice(list(AGES_D)),
            "reference_diagnoses": Diagnoses(right=(claim,), plausible_but_wrong=("nothing is wrong",)),
        }
    )


def written(wanted: Collection, folder: Path, library: Library | None = None) -> list[str]:
    """Paths of task files of a collection in a folder; those that are there already stay as they are."""
    marker = folder / f"{PREFIX}-{wanted.size}.txt"
    if not marker.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        names = []
        for task in instances(wanted, library):
            (folder / f"{task.id}.yaml").write_text(text_of(task))
            names.append(task.id)
        marker.write_text("".join(f"{name}\n" for name in names))
    return [str(folder / f"{name}.yaml") for name in marker.read_text().split()]
