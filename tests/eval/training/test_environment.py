"""Incidents as environments: Gymnasium's own checker, one future for one seed, states that are taken back."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import simcluster.gym  # noqa: F401  # makes the tasks known
from simcluster.eval.training.environment import IncidentEnv
from tests.kiosk import CONTENT, TASK

#: Its id stands for all that are registered; what is lived is the smallest incident there is.
NAME = "simcluster/wrong_service_selector_online_boutique-v0"
KIOSK = {"task": TASK, "content": (CONTENT,)}
RIGHT = (
    "kubectl describe pods -n kiosk",
    "diagnose Deployment kiosk: the image tag v9 does not exist, so that it cannot be pulled.",
    "kubectl rollout undo deployment/kiosk -n kiosk",
    "wait 30s",
    "finish",
)


@pytest.fixture(scope="module")
def env() -> IncidentEnv:
    made = gymnasium.make(NAME, disable_env_checker=True, **KIOSK).unwrapped
    assert isinstance(made, IncidentEnv)
    return made


def played(env: IncidentEnv, *lines: str) -> list[tuple[Any, ...]]:
    return [env.step(line) for line in lines]


@pytest.mark.parametrize("actions", ["text", "structured"])
def test_the_checker_of_gymnasium_finds_nothing(actions: Any) -> None:
    check_env(IncidentEnv(TASK, actions=actions, content=(CONTENT,)), skip_render_check=True, skip_close_check=True)


def test_a_right_answer_is_worth_most_and_one_seed_has_one_future(env: IncidentEnv) -> None:
    found = []
    for _ in range(2):
        first, info = env.reset(seed=7)
        assert first["alert"]
        assert info == {"task": TASK, "seed": 7}
        steps = played(env, *RIGHT)
        found.append([(one[0], one[1], one[4]["digest"]) for one in steps])
    assert found[0] == found[1]
    *_, last = steps
    assert last[2:4] == (True, False)
    assert last[4]["passed"]
    assert sum(one[1] for one in steps) > 0.75
    with pytest.raises(AssertionError, match="over: reset"):
        env.step("kubectl get pods")


def test_mistakes_cost_and_get_answers(env: IncidentEnv) -> None:
    env.reset(seed=7)
    (seen, reward, over, cut, _), *more = played(
        env, "kubectl get podz", "frobnicate", "ssh", "wait never", "promql up{"
    )
    assert (seen["exit_code"], over, cut) == (1, False, False)
    assert reward < 0.0
    assert [one[0]["exit_code"] for one in more] == [127, 2, 2, 2]
    assert more[0][0]["output"] == "frobnicate: command not found\n"
    finished = env.step("finish")
    assert finished[2]
    assert not finished[4]["passed"]


def test_odd_actions_are_answered_and_end_nothing(env: IncidentEnv) -> None:
    env.reset(seed=7)
    odd = [None, 5, b"finish", ["finish"], {}, {"tool": -1, "text": ""}, {"tool": 99, "text": ""}]
    odd += [{"tool": 0, "text": None}, {"tool": "finish", "text": ""}, "kubectl " + "x" * 2_000_000]
    odd += [
        "kubectl get pods \ud800",
        "diagnose \ud800",
        "ssh worker-1 echo a\x00b",
        "wait -5s",
        "promql " + "(" * 4000,
    ]
    for action in odd:
        seen, _, over, cut, _ = env.step(action)
        assert (over, cut) == (False, False), action
        assert env.observation_space.contains(seen)
    assert played(env, "kubectl get pods -n kiosk")[0][0]["exit_code"] == 0


def test_both_futures_of_a_saved_state_are_real(env: IncidentEnv) -> None:
    env.reset(seed=7)
    played(env, *RIGHT[:2])
    kept = env.save()
    one = played(env, *RIGHT[2:])
    env.restore(kept)
    nothing = played(env, "wait 30s", "finish")
    env.restore(kept)
    again = played(env, *RIGHT[2:])
    assert [step[:2] for step in one] == [step[:2] for step in again]
    assert (one[-1][4]["passed"], nothing[-1][4]["passed"]) == (True, False)


def test_many_at_once() -> None:
    many = gymnasium.make_vec(NAME, num_envs=2, vectorization_mode="sync", **KIOSK)
    seen, _ = many.reset(seed=3)
    assert len(seen["alert"]) == 2
    _, rewards, *_ = many.step(["kubectl get nodes", "kubectl get podz"])
    assert rewards[0] >= 0.0 > rewards[1]


def test_words_that_are_wrong() -> None:
    with pytest.raises(ValueError, match="actions are 'text' or 'structured'"):
        IncidentEnv(TASK, actions="verbs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="grade is"):
        IncidentEnv(TASK, grade="quick")  # type: ignore[arg-type]
