"""Row CFS holds."""

from simcluster.eval.validation import cfs
from simcluster.eval.validation.context import Context


def test_the_row_holds():
    context = Context("CFS", "exact", True, [])
    cfs.ROWS["CFS"].measure(context)
    assert [finding.quantity for finding in context.findings if not finding.holds] == []
