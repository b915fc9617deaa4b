"""A plugin of pytest that writes which test executes which line: `pytest -p tests.mutants.watch FILE`.

Lines carry the name of a test, `shared` for what is made for several, and nothing for what only an import executes.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import coverage
import pytest

#: In the environment: the file to write.
OUT = "SIMCLUSTER_MUTANTS_OUT"
#: The tests with their seconds of CPU, those that fail, and the names of each file's lines.
Found = tuple[dict[str, float], set[str], dict[str, dict[int, list[str]]]]

_COVER = coverage.Coverage(data_file=None, source=["."], omit=["tests/*"], branch=False, config_file=False)
_SECONDS: dict[str, float] = {}
_FAILED: set[str] = set()
_COVER.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    _COVER.switch_context(item.nodeid)
    began = sum(os.times()[:4])
    result = yield
    _SECONDS[item.nodeid] = sum(os.times()[:4]) - began
    _COVER.switch_context("")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Any:
    if fixturedef.scope == "function":
        return (yield)
    _COVER.switch_context("shared")
    result = yield
    _COVER.switch_context(request.session.items[len(_SECONDS)].nodeid)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _FAILED.add(report.nodeid)


def pytest_unconfigure() -> None:
    _COVER.stop()
    data = _COVER.get_data()
    lines = {os.path.relpath(path): data.contexts_by_lineno(path) for path in data.measured_files()}
    Path(os.environ[OUT]).write_bytes(pickle.dumps((_SECONDS, _FAILED, lines)))
