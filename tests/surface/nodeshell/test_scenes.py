"""A root shell on a node: its language, its filters, systemd and the journal, with all they print pinned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pins import Pins
from tests.scenes import play

SCENES = Path(__file__).parent / "scenes"


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENES.glob("*.scene")))
def test_what_a_node_prints(pins: Pins, name: str) -> None:
    pins.hold(f"{name}.txt", play((SCENES / f"{name}.scene").read_text()))
