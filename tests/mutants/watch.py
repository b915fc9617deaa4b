"""A plugin of pytest that writes which test executes which line: `pytest -p tests.mutants.watch FILE`.

Lines carry the name of a test, `shared` for what is made for several, and nothing for what only an import executes.
What a test starts as processes of its own counts as the test's, too.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutants.reach import FILES, OUT

#: In the environment: the test that runs, for its child processes.
TEST = "SIMCLUSTER_MUTANTS_TEST"

_FOLDER = tempfile.TemporaryDirectory(prefix="reach-")
_CONFIGURATION = Path(_FOLDER.name) / "coveragerc"
_CONFIGURATION.write_text(
    f"[run]\nparallel = true\ndata_file = {_FOLDER.name}/lines\ncontext = ${{{TEST}-}}\npatch = _exit\ninclude =\n"
    + "".join(f"    {Path.cwd() / name}\n" for name in os.environ[FILES].splitlines())
)
os.environ[TEST] = ""
_COVER = coverage.Coverage(config_file=str(_CONFIGURATION))
os.environ["COVERAGE_PROCESS_START"] = str(_CONFIGURATION)
_SECONDS: dict[str, float] = {}
_FAILED: set[str] = set()
_COVER.start()


def _switch(test: str) -> None:
    _COVER.switch_context(test)
    os.environ[TEST] = test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    _switch(item.nodeid)
    began = sum(os.times()[:4])
    result = yield
    _SECONDS[item.nodeid] = sum(os.times()[:4]) - began
    _switch("")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Any:
    if fixturedef.scope == "function":
        return (yield)
    _switch("shared")
    result = yield
    _switch(request.session.items[len(_SECONDS)].nodeid)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _FAILED.add(report.nodeid)


def pytest_unconfigure() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a file of lines that a killed process left half written, or none at all
        _COVER.stop()
        _COVER.save()
        _COVER.combine(strict=False)
        data = _COVER.get_data()
    lines = {os.path.relpath(path): data.contexts_by_lineno(path) for path in data.measured_files()}
    Path(os.environ[OUT]).write_bytes(pickle.dumps((_SECONDS, _FAILED, lines)))
    _FOLDER.cleanup()
