"""SRE-Zero's shape: its grammar, a solved incident by both ways to score, and what mistakes cost."""

from __future__ import annotations

import pytest

from simcluster.eval.frameworks.srezero import ActionError, SREEnv, StepResult, marks_of, metrics_of, parsed
from simcluster.eval.frameworks.srezero.actions import action_of
from simcluster.eval.frameworks.srezero.truth import mends, names_cause, names_fix
from simcluster.eval.generator.srezero import row_of, table, text

TASK = "database_disk_full"
SOLVED = (
    "inspect_logs(database)",
    "inspect_metrics(database)",
    "update_config(database, DISK_QUOTA_GB, 200)",
    "resolve_incident(database disk is full, raise DISK_QUOTA_GB of the database to 200)",
)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("look around", "write one call"),
        ("reboot(cache)", "there is no action reboot"),
        ("update_config(cache, TTL_SECONDS)", "write update_config\\(service, key, value\\)"),
        ("inspect_logs()", "write inspect_logs\\(service\\)"),
    ],
)
def test_what_is_no_action_is_answered_with_what_would_be_one(said: str, why: str) -> None:
    with pytest.raises(ActionError, match=why):
        parsed(said)
    with pytest.raises(ActionError, match="needs value"):
        action_of({"action_type": "update_config", "service": "cache", "key": "TTL_SECONDS"})


def test_every_fix_and_every_cause_of_the_table_is_accepted_as_it_is_written() -> None:
    for row in table():
        fix = "restart it" if row.fix.restart else f"set {row.fix.key} to {text(row.fix.to)}"
        call = f"restart_service({row.service})"
        if not row.fix.restart:
            call = f"update_config({row.service}, {row.fix.key}, {text(row.fix.to)})"
        assert mends(row, parsed(call)), row.id
        assert names_cause(row, row.cause)
        assert names_fix(row, f"{row.service}: {fix}"), row.id
    assert not mends(row_of(TASK), parsed("update_config(database, DISK_QUOTA_GB, 150)"))
    assert not names_cause(row_of(TASK), "the cache is cold")


def played(env: SREEnv, *actions: str) -> list[StepResult]:
    return [env.step(one) for one in actions]


def test_an_incident_is_solved_and_scored_by_what_the_cluster_does() -> None:
    env = SREEnv(TASK)
    first = env.reset()
    assert first.alert == "Orders cannot be placed: writes fail."
    assert TASK not in str(first)
    logs, metrics, mended, over = played(env, *SOLVED)
    assert any("no_space_left_on_device" in line for line in logs.observation.last_result["details"]["logs"])
    assert metrics.observation.last_result["details"]["metrics"]["disk_used_pct"] > 100
    assert "correct" not in str(mended.observation.last_result)
    assert over.done
    assert over.info["terminal_reason"] == "resolved"
    assert env.metrics["final_reward"] == pytest.approx(0.95, abs=0.01)
    assert sum(one.reward for one in (logs, metrics, mended, over)) == pytest.approx(0.95, abs=0.01)
    assert marks_of([env.metrics]) == pytest.approx(40 + 25 * 0.95 + 20 + 10 * 4 / 7 + 5, abs=0.01)
    assert metrics_of([env.metrics])["success_rate"] == 1.0
    with pytest.raises(RuntimeError, match="over"):
        env.step("check_status(cache)")


def test_mistakes_cost_what_they_cost_there() -> None:
    env = SREEnv("database_maintenance_mode_left_on", scoring="compat")
    env.reset()
    found = played(
        env, "dance()", "dance()", "restart_service(web_server)", "check_status(cache)", "check_status(cache)"
    )
    assert [round(one.reward, 2) for one in found] == [-0.05, -0.1, -0.25, 0.0, -0.05]
    assert env.metrics["distractor_failures"] == 1
    last = env.step(
        "resolve_incident(database maintenance mode was left enabled, set MAINTENANCE_MODE of database to false)"
    )
    assert last.info["terminal_reason"] == "premature_or_incorrect_resolution"
    assert env.metrics["final_reward"] == 0.0
    assert env.metrics["root_cause_identified"]
