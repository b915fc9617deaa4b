"""The mutants themselves: operators do what their examples say, a seed draws the same sample."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray")
pytest.importorskip("coverage")

from cosmic_ray.mutating import mutate_code

from tests.mutants.operators import DropCall, DropEvent, WrongCode, WrongException, WrongWord, silent_lines
from tests.mutants.reach import Reach
from tests.mutants.sample import ROOMS, _is_another_program, drawn

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("operator", [DropCall, DropEvent, WrongCode, WrongWord])
def test_an_operator_does_what_its_examples_say(operator) -> None:
    for example in operator.examples():
        assert mutate_code(example.pre_mutation_code, operator(), example.occurrence) == example.post_mutation_code


def test_an_exception_of_a_module_is_left_alone() -> None:
    source = "try:\n    f()\nexcept (a.B, C):\n    pass\nexcept a.B as e:\n    pass\nexcept D:\n    pass\n"
    changed = [mutate_code(source, WrongException(), number) for number in range(3)]
    assert [re.findall("except (.*):", str(one)) for one in changed[:2]] == [
        ["(a.B, CosmicRayTestingException)", "a.B as e", "D"],
        ["(a.B, C)", "a.B as e", "CosmicRayTestingException"],
    ]
    assert changed[2] is None


def test_a_seed_draws_the_same_sample_and_every_mutant_is_another_program() -> None:
    rooms = {name: ROOMS[name] for name in ("engine", "noise")}
    sample = drawn(ROOT, rooms, 20, 3)
    assert sample == drawn(ROOT, rooms, 20, 3)
    assert {mutant.path.split("/")[0] for mutant in sample} == {"simcluster", "noise"}
    for mutant in sample:
        before = (ROOT / mutant.path).read_text()
        assert ast.dump(ast.parse(mutant.source(before))) != ast.dump(ast.parse(before))


def test_an_annotation_that_nobody_reads_is_left_alone() -> None:
    assert not _is_another_program("a: int | None = 1\n", "a: int & None = 1\n")
    assert _is_another_program("class A:\n    a: int | None = 1\n", "class A:\n    a: int & None = 1\n")


def test_words_are_compared_for_being_the_same_only() -> None:
    before = "def f(kind, size):\n    return kind == 'Pod' and size < 3\n"
    assert not _is_another_program(before, before.replace("==", "<="))
    assert _is_another_program(before, before.replace("==", "!="))
    assert _is_another_program(before, before.replace("<", ">="))


def test_docstrings_and_annotations_are_left_alone() -> None:
    source = (
        '"""Words."""\nimport x\n\n\ndef f(a: int | None) -> int:\n    """More."""\n    assert a\n    return a or 1\n'
    )
    assert silent_lines(source) == {1, 2, 5, 6, 7}


def test_a_change_meets_the_tests_that_execute_its_line_the_nearest_first() -> None:
    reach = Reach()
    reach.add(({"tests/a/test_x.py::one": 2.0, "tests/a/test_x.py::two": 1.0}, set(), {"simcluster/a/b.py": LINES}))
    reach.add(({"tests/c/test_y.py::bad": 0.1, "tests/c/test_y.py::far": 0.1}, {"tests/c/test_y.py::bad"}, {
        "simcluster/a/b.py": {2: [""], 5: ["tests/c/test_y.py::bad", "tests/c/test_y.py::far"]},
    }))  # fmt: skip
    near = ["tests/a/test_x.py::two", "tests/a/test_x.py::one"]
    expected = {1: [*near, "tests/c/test_y.py::far"], 4: near[1:], 5: [*near, "tests/c/test_y.py::far"], 8: []}
    assert {line: reach.tests_of("simcluster/a/b.py", SOURCE, line) for line in expected} == expected


SOURCE = """WORD = 1

def f(a, b):
    if a:
        a = (b,
             b)
        return g(a)
    return 2
"""
LINES = {
    1: [""],
    3: [""],
    4: ["tests/a/test_x.py::one"],
    5: ["tests/a/test_x.py::one"],
    6: ["shared"],
}
