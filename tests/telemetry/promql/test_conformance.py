"""Files in the language of Prometheus' own evaluation tests: ours, and the published ones where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.telemetry.promql.conformance import judge
from tests.telemetry.promql.memory import Memory, Tabled

HERE = Path(__file__).parent
PUBLISHED = HERE.parents[3] / "shared" / "data" / "promql-conformance"


@pytest.mark.parametrize("kind", [Memory, Tabled])
def test_our_cases(kind: type[Memory]) -> None:
    counted, wrong = judge([HERE / "own.test"], kind)
    assert counted > 25
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", [Memory, Tabled])
@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published files are not part of the project")
def test_published_cases(kind: type[Memory]) -> None:
    counted, wrong = judge(sorted(PUBLISHED.glob("*.test")), kind)
    assert counted > 500
    assert len(wrong) <= counted // 50, "\n".join(wrong)
