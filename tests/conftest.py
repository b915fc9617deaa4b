"""Options of the whole test suite: how much of the long sweeps to run."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.pins import Pins

# To the same bits, and no process of a test waits for a compiler: the tests of the accelerator switch it on themselves.
os.environ.setdefault("SIMCLUSTER_ACCELERATOR", "off")
# Worlds that tests begin with are made once for all workers, and again whenever a file of the program has changed.
os.environ.setdefault("SIMCLUSTER_CACHE", str(Path(__file__).resolve().parents[1] / ".pytest_cache" / "worlds"))
#: The same examples in every run, however slow the machine is.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
#: Which cases of long sweeps run if nobody asks for others.
SEED = 6


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run the long sweeps whole, not a sample of them")
    parser.addoption("--sample", type=int, help="a seed that chooses others of the long sweeps' cases")
    parser.addoption("--repin", action="store_true", help="write what the pinned files differ in; read the diff")


@pytest.fixture
def pins(request: pytest.FixtureRequest) -> Pins:
    """The files of whole answers beside a test: in the folder `pinned`."""
    return Pins(Path(request.path).parent / "pinned", request.config.getoption("--repin"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of each slow test keep as many cases as `slow(sample=N)` says (one), whatever else there is to choose from.

    With `slow(first=WORD)` those whose names have the word are drawn first, unless another sample is asked for.
    """
    if config.getoption("--whole"):
        return
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            cases.setdefault((item.nodeid.partition("[")[0], _kept(item)), []).append(item)
    seed = config.getoption("--sample")
    dropped: set[pytest.Item] = set()
    for (_, kept), each in cases.items():
        dropped |= set(sorted(each, key=lambda item: _lot(seed, item))[kept:])
    if dropped:
        config.hook.pytest_deselected(items=[item for item in items if item in dropped])
        items[:] = [item for item in items if item not in dropped]


def _kept(item: pytest.Item) -> int:
    slow = item.get_closest_marker("slow")
    assert slow is not None
    assert not slow.args
    assert {*slow.kwargs} <= {"sample", "first"}, f"{item.nodeid}: slow(sample=N, first=WORD)"
    return int(slow.kwargs.get("sample", 1))


def _lot(seed: int | None, item: pytest.Item) -> tuple[bool, bytes]:
    """By which cases are drawn: that of a case does not depend on the others."""
    slow = item.get_closest_marker("slow")
    first = str(slow.kwargs.get("first", "")) if slow is not None and seed is None else ""
    return first not in item.nodeid, blake2b(f"{SEED if seed is None else seed} {item.nodeid}".encode()).digest()
