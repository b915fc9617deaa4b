"""Options of the whole test suite: how much of the long sweeps to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.pins import Pins

#: The same examples in every run, however slow the machine is.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

#: Without `--whole`, every so many-th case of a slow test runs (or as `slow(every=N)` says), and the first always.
SAMPLE = 5


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run the long sweeps whole, not a sample of them")
    parser.addoption("--repin", action="store_true", help="write what the pinned files differ in; read the diff")
    parser.addoption("--rewrite-transcripts", action="store_true", help="write transcripts as the tools now answer")


@pytest.fixture
def pins(request: pytest.FixtureRequest) -> Pins:
    """The files of whole answers beside a test: in the folder `pinned`."""
    return Pins(Path(request.path).parent / "pinned", request.config.getoption("--repin"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole"):
        return
    seen: dict[str, int] = {}
    kept, dropped = [], []
    for item in items:
        slow = item.get_closest_marker("slow")
        if slow is None:
            kept.append(item)
            continue
        name, every = item.nodeid.partition("[")[0], slow.kwargs.get("every", SAMPLE)
        (kept if seen.setdefault(name, 0) % every == 0 else dropped).append(item)
        seen[name] += 1
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
