"""The rows about populations of drives, with small samples."""

import pytest

from simcluster.eval.validation.run import measure


@pytest.mark.parametrize("row", ["D1", "D2", "D3", "D4"])
def test_populations_are_as_in_the_field(row):
    measured = measure((row, "exact", True))
    assert measured.findings
    assert [finding.quantity for finding in measured.findings if not finding.holds] == []
