"""The collector rests while modules are imported, and only then."""

from __future__ import annotations

import gc

import pytest

from simcluster.engine.loading import loading


def test_the_collector_is_back_after_an_import_that_fails() -> None:
    def failing() -> None:
        with loading():
            assert not gc.isenabled()
            raise ImportError

    assert gc.isenabled()
    with pytest.raises(ImportError):
        failing()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
