"""Files in the language of Prometheus' own evaluation tests: ours, and the published ones where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.telemetry.promql.conformance import judge

HERE = Path(__file__).parent
PUBLISHED = HERE.parents[3] / "shared" / "data" / "promql-conformance"


def test_our_cases() -> None:
    counted, natives, _, wrong = judge([HERE / "own.test"])
    assert counted > 15
    assert natives == 0
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published files are not part of the project")
def test_published_cases_without_native_histograms() -> None:
    counted, _, _, wrong = judge(sorted(PUBLISHED.glob("*.test")))
    assert counted > 400
    assert not wrong, "\n".join(wrong)
