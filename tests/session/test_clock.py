"""Clock policies and budgets say what they mean, and refuse what they cannot."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from simcluster.engine import SECOND
from simcluster.session.clock import Budget, Clock


@pytest.mark.parametrize(
    "policy", ["", "realtime", "realtime:0", "realtime:-1", "realtime:nan", "realtime:1e3", "fast"]
)
def test_policies_that_there_are_not(policy: str) -> None:
    with pytest.raises(ValidationError, match="stepped, manual or realtime:X"):
        Clock(policy=policy)


@pytest.mark.parametrize("field", ["read", "write", "look", "think", "patience"])
def test_time_does_not_run_backwards(field: str) -> None:
    for value in ("-1s", "soon"):
        with pytest.raises(ValidationError):
            Clock.model_validate({field: value})


@pytest.mark.parametrize("value", ["0s", "-1h", "x"])
def test_a_budget_of_time_is_above_zero(value: str) -> None:
    with pytest.raises(ValidationError):
        Budget(time=value)


def test_costs() -> None:
    clock = Clock(read="0.25s", think="1s")
    assert [clock.cost_ns(charge) for charge in ("free", "read", "write", "look")] == [
        0,
        5 * SECOND // 4,
        2 * SECOND,
        3 * SECOND,
    ]
    assert Clock(policy="manual").cost_ns("write") == Clock(policy="realtime:60").cost_ns("look") == 0


def test_simulated_time_follows_the_operators_exactly() -> None:
    assert Clock(policy="realtime:60").simulated_ns(SECOND) == 60 * SECOND
    assert Clock(policy="realtime:0.1").simulated_ns(10**18 + 10) == 10**17 + 1
    assert Clock(policy="stepped").simulated_ns(SECOND) == 0
    assert not Clock(policy="manual").realtime
    assert Clock(policy="realtime:2.5").realtime
