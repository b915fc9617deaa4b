"""Where the data of a claim lie: the node, the file system and the files of its volume.

What is wrong with a drive is aimed at by what it carries, as operators speak of it: the store whose
volume is on it. Leaves out volumes that are not folders of a node.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from simcluster.api.objects import ApiObject, name_of
from simcluster.api.store import Store
from simcluster.engine.content import Content, UnknownName
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, Host, ImpossibleTarget
from simcluster.models.machine.storage import BLOCK, Disk, FileSystem

#: Kernel name of a node's drive.
NODE_DRIVE = "sda"


class Place(NamedTuple):
    """The folder of a claim's volume."""

    node: str
    folder: str


def place_of(store: Store, namespace: str, claim: str) -> Place | None:
    """Where the volume that a claim is bound to lies; None if it is not bound to a folder of one node."""
    found = store.get("persistentvolumeclaims", namespace, claim)
    name = "" if found is None else found["spec"].get("volumeName", "")
    volume = store.get("persistentvolumes", "", name) if name else None
    if volume is None:
        return None
    spec = volume["spec"]
    folder = (spec.get("hostPath") or spec.get("local") or {}).get("path", "")
    nodes = _nodes_of(volume)
    return Place(nodes[0], folder) if folder and len(nodes) == 1 else None


def _nodes_of(volume: ApiObject) -> list[str]:
    """The nodes to which a volume's affinity binds it."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    return [
        value
        for term in required.get("nodeSelectorTerms") or ()
        for rule in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))
        if rule["key"] in ("kubernetes.io/hostname", "metadata.name")
        for value in rule.get("values") or ()
    ]


class StoredParams(Content):
    """A claim of the task's namespace, and the files of its volume that are meant (a pattern of their names)."""

    claim: str
    files: str = "*"


class StoredMechanism(Mechanism):
    """Base of what is wrong with the drive of a node, under the data of a claim."""

    kinds = ("Node",)
    params: StoredParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"{type(self).__name__} under files {self.params.files} of claim {self.params.claim}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it: nodes have one drive."""
        return {"device": NODE_DRIVE}

    def check(self, target: FaultTarget) -> None:
        """The claim's volume must lie on the node, on a drive that works, with such files."""
        super().check(target)
        self.files(target)
        disk = self.system(target).disk
        if disk.outage is not None or disk.modes:
            raise ImpossibleTarget(f"drive {disk.name} of {self.ref} is broken already")

    def system(self, target: FaultTarget) -> FileSystem:
        """The file system on the node's drive that carries the volume. Raises ImpossibleTarget."""
        host: Host | None = target.machines.get(self.ref.name)
        place = place_of(target.api.store, self.namespace, self.params.claim)
        if host is None or place is None or place.node != self.ref.name:
            claim, store = self.params.claim, target.api.store
            claims = [name_of(one) for one in store.objects("persistentvolumeclaims", self.namespace)]
            offer = f"the nearest that fits is Node/{place.node}" if place else str(UnknownName("claim", claim, claims))
            raise ImpossibleTarget(f"no volume of claim {claim} lies on {self.ref}; {offer}")
        return host.files_at(place.folder)

    def disk(self, target: FaultTarget) -> Disk:
        """The drive. Raises ImpossibleTarget."""
        return self.system(target).disk

    def files(self, target: FaultTarget) -> list[str]:
        """The files meant. Raises ImpossibleTarget if there are none."""
        place = place_of(target.api.store, self.namespace, self.params.claim)
        system = self.system(target)
        assert place is not None, self.ref  # `system` would have refused
        found = [file for file in system.files_below(place.folder) if self._is_meant(file)]
        if not found:
            raise ImpossibleTarget(f"the volume of claim {self.params.claim} has no file {self.params.files}")
        return found

    def damaged(self, target: FaultTarget, what: str) -> list[tuple[str, str]]:
        """(drive, file) of files of the claim's volume, wherever it is now, on sectors that are `bad` or `wrong`."""
        place = place_of(target.api.store, self.namespace, self.params.claim)
        host = None if place is None else target.machines.get(place.node)
        if place is None or host is None:
            return []
        system = host.files_at(place.folder)
        sectors = system.disk.sectors
        look = sectors.bad_in if what == "bad" else sectors.wrong_in
        each = BLOCK // 512
        return [
            (system.disk.name, file)
            for file in system.files_below(place.folder)
            if any(look(system.lba(first) // each, count) for first, count in system.blocks_of(file))
        ]

    def _is_meant(self, file: str) -> bool:
        return fnmatchcase(file.rpartition("/")[2], self.params.files)
