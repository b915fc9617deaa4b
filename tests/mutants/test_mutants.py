"""The mutants themselves: operators do what their examples say, a seed draws the same sample."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray")

from cosmic_ray.mutating import mutate_code

from tests.mutants.mirror import ROOMS, stages
from tests.mutants.operators import DropCall, DropEvent, WrongCode, WrongWord, silent_lines
from tests.mutants.sample import drawn

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("operator", [DropCall, DropEvent, WrongCode, WrongWord])
def test_an_operator_does_what_its_examples_say(operator) -> None:
    for example in operator.examples():
        assert mutate_code(example.pre_mutation_code, operator(), example.occurrence) == example.post_mutation_code


def test_a_seed_draws_the_same_sample_and_every_mutant_is_another_program() -> None:
    rooms = {name: ROOMS[name] for name in ("engine", "noise")}
    sample = drawn(ROOT, rooms, 20, 3)
    assert sample == drawn(ROOT, rooms, 20, 3)
    assert {mutant.path.split("/")[0] for mutant in sample} == {"simcluster", "noise"}
    for mutant in sample:
        before = (ROOT / mutant.path).read_text()
        assert ast.dump(ast.parse(mutant.source(before))) != ast.dump(ast.parse(before))


def test_docstrings_and_annotations_are_left_alone() -> None:
    source = (
        '"""Words."""\nimport x\n\n\ndef f(a: int | None) -> int:\n    """More."""\n    assert a\n    return a or 1\n'
    )
    assert silent_lines(source) == {1, 2, 5, 6, 7}


def test_the_nearest_tests_come_first() -> None:
    found = stages(ROOT, "simcluster/engine/simulation.py")
    assert found[0] == ("tests/engine/test_simulation.py",)
    assert found[1] == ("tests/engine",)
    assert found[-1] == ("tests/world/test_scenes.py",)
