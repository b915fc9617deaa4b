"""What the servers of a cluster answer, and what becomes of it while one of them is gone: pinned whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pins import Pins
from tests.scenes import play

SCENES = Path(__file__).parent / "scenes"


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENES.glob("*.scene")))
def test_what_the_servers_answer(pins: Pins, name: str) -> None:
    pins.hold(f"{name}.txt", play((SCENES / f"{name}.scene").read_text()))
