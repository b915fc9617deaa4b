"""Answers of a real Prometheus 2.42 to the queries of `incidents`, within 1e-9; how they were recorded: `oracle`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.telemetry.promql.incidents import INCIDENTS, queries, samples
from tests.telemetry.promql.oracle import Server, equal, ours, recorded

RECORDING = Path(__file__).parents[2] / "recordings" / "promql-2.42.jsonl.xz"


def test_answers_are_those_that_were_recorded() -> None:
    store = samples()
    pairs = list(recorded(RECORDING))
    assert [asked for asked, _ in pairs] == queries()
    assert len(pairs) >= 600
    assert len(INCIDENTS) >= 8
    wrong = [asked for asked, theirs in pairs if not equal(ours(store, asked), theirs)]
    assert not wrong


def test_the_comparison_notices_a_last_digit() -> None:
    store = samples()
    asked, theirs = next(pair for pair in recorded(RECORDING) if pair[1]["data"]["result"] and pair[0].step_ms)
    assert equal(ours(store, asked), theirs)
    point = theirs["data"]["result"][0]["values"][0]
    point[1] = repr(float(point[1]) * (1 + 1e-8) + 1e-8)
    assert not equal(ours(store, asked), theirs)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="no real server at hand")
def test_a_real_server_agrees() -> None:
    store = samples()
    binary = shutil.which("prometheus")
    assert binary is not None
    with Server(binary, store.samples) as server:
        wrong = [asked for asked in queries() if not equal(ours(store, asked), server.answer(asked))]
    assert not wrong
