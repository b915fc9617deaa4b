"""Every task and fault of the package proves itself."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.eval.proof import check_task


@pytest.mark.slow(first="wrong_service_selector_online_boutique")
@pytest.mark.parametrize("task_id", tasks.ids())
def test_every_task_proves_itself(task_id: str, request: pytest.FixtureRequest) -> None:
    tries = (1, 1) if request.config.getoption("--whole") else (0, 0)  # of these `test_attacks` has a sample
    report = check_task(task_id, seed=3, tries=tries)
    assert report.passed, report.explain()
