"""Every verb with its flags, and every printer and describer over a cluster where every kind is in use.

What is printed is pinned whole: output, errors and exit status.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.api.resources import BUILT_IN
from tests.pins import Pins
from tests.scenes import play

SCENES = Path(__file__).parent / "scenes"
CLUSTER = Path(__file__).parents[2] / "control" / "spoiled" / "cluster.yaml"
#: Kinds of which a new cluster has so many objects that they are printed, but not described.
MANY = ("apiservices", "clusterroles", "clusterrolebindings", "events", "leases", "componentstatuses")


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENES.glob("*.scene")))
def test_what_is_printed(pins: Pins, name: str) -> None:
    text = (SCENES / f"{name}.scene").read_text()
    if name == "look":
        text = _with_cluster(text)
    pins.hold(f"{name}.txt", play(text))


def test_every_kind_is_printed_and_described(pins: Pins) -> None:
    lines = ["wait 50s"]
    for resource in BUILT_IN.all:
        if "list" in resource.verbs and resource.storage == resource.name:
            kind = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            lines.append(f"kubectl get {kind} -A -o wide")
            if resource.plural not in MANY:
                lines.append(f"kubectl describe {kind}")
                lines.append(f"kubectl get {kind} -o yaml")
    pins.hold("kinds.txt.xz", play(_with_cluster("\n".join(lines))))


def _with_cluster(text: str) -> str:
    return f"kubectl apply -f - <<END\n{CLUSTER.read_text()}\nEND\n{text}"
