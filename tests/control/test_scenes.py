"""Every change of every object while controllers, scheduler and kubelets do their work, pinned whole.

Objects, conditions, Events and times: whatever a controller writes, too early, wrongly or not at all, differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pins import Pins
from tests.scenes import play

SCENES = Path(__file__).parent / "scenes"
#: What changes all the time and says little.
UNWATCHED = ("leases.coordination.k8s.io",)


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENES.glob("*.scene")))
def test_what_becomes_of_the_objects(pins: Pins, name: str) -> None:
    pins.hold(f"{name}.txt.xz", play((SCENES / f"{name}.scene").read_text(), unwatched=UNWATCHED))
