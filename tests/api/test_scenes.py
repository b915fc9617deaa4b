"""Answers to requests of every sort: access, pieces, patches, owners, custom resources, policies, all pinned whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pins import Pins
from tests.scenes import play

SCENES = Path(__file__).parent / "scenes"


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENES.glob("*.scene")))
def test_what_is_answered(pins: Pins, name: str) -> None:
    pins.hold(f"{name}.txt", play((SCENES / f"{name}.scene").read_text()))
