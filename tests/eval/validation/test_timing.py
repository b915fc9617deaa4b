"""Rows K1-K8: those that take little hold within their tolerances."""

import pytest

from simcluster.eval.validation import timing
from simcluster.eval.validation.context import Context


@pytest.mark.parametrize("name", ["K1", "K3", "K5", "K7"])
def test_rows_hold(name):
    context = Context(name, "exact", True, [])
    timing.ROWS[name].measure(context)
    assert [finding.quantity for finding in context.findings if not finding.holds] == []
