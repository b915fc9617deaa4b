"""Which mutants are tried: a sample over all rooms that a seed draws."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators import (
    binary_operator_replacement,
    boolean_replacer,
    break_continue,
    comparison_operator_replacement,
    number_replacer,
    unary_operator_replacement,
    zero_iteration_for_loop,
)
from cosmic_ray.operators.operator import Operator

from tests.mutants.operators import DropCall, DropEvent, WrongCode, WrongException, WrongWord, silent_lines, tree_of

#: Folders of the rooms' sources.
ROOMS = {
    **{
        name: f"simcluster/{name}"
        for name in ("api", "apps", "cli", "control", "engine", "session", "surface", "telemetry", "world")
    },
    **{name: name for name in ("agents", "eval", "faults", "models", "noise", "tasks")},
}
#: Changes that change nothing: what is identical here (None, a type, a value of an Enum) is equal, and of truth values
#: (NumPy's arrays of them, where this program writes `&` and `|`) these are the product and the sum.
_SAME = ("Is_Eq", "IsNot_NotEq", "BitAnd_Mul", "BitOr_Add")
#: Kinds of mistakes, each as likely as the others in a file that has places for it.
KINDS: dict[str, tuple[type[Operator], ...]] = {
    "arithmetic": tuple(
        one for one in binary_operator_replacement.operators() if one.__name__.rpartition("Operator_")[2] not in _SAME
    ),
    "boolean": (
        boolean_replacer.AddNot,
        boolean_replacer.ReplaceTrueWithFalse,
        boolean_replacer.ReplaceFalseWithTrue,
        boolean_replacer.ReplaceAndWithOr,
        boolean_replacer.ReplaceOrWithAnd,
    ),
    "call": (DropCall,),
    "comparison": tuple(
        one
        for one in comparison_operator_replacement.operators()
        if one.__name__.rpartition("Operator_")[2] not in _SAME
    ),
    "event": (DropEvent,),
    "exception": (WrongException,),
    "loop": (
        break_continue.ReplaceBreakWithContinue,
        break_continue.ReplaceContinueWithBreak,
        zero_iteration_for_loop.ZeroIterationForLoop,
    ),
    "number": (number_replacer.NumberReplacer,),
    "sign": tuple(unary_operator_replacement.operators()),
    "status code": (WrongCode,),
    "word": (WrongWord,),
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        path: of the file, from the root of the project.
        line: where, from 1.
    """

    path: str
    kind: str
    operator: type[Operator]
    occurrence: int
    line: int

    def source(self, before: str) -> str:
        """The file with the change."""
        after = mutate_code(before, self.operator(), self.occurrence)
        assert isinstance(after, str)
        return after

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.operator.__name__}"


def drawn(root: Path, rooms: dict[str, str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants, shared among rooms by their size, each room at least one.

    Args:
        root: of the project.
        rooms: the folders of rooms by their names.
        seed: the same seed draws the same mutants of the same tree.
    """
    rng = random.Random(seed)
    files = {name: sorted(_sources(root, folder)) for name, folder in rooms.items()}
    sizes = {name: sum(len(path.read_text().splitlines()) for path in paths) for name, paths in files.items()}
    found: list[Mutant] = []
    for name, share in _shares(sizes, count).items():
        taken: set[tuple[str, int, str]] = set()
        weights = [len(path.read_text().splitlines()) for path in files[name]]
        while share:
            mutant = _in_file(root, rng.choices(files[name], weights)[0], rng)
            if mutant is not None and (mutant.path, mutant.line, mutant.kind) not in taken:
                taken.add((mutant.path, mutant.line, mutant.kind))
                found.append(mutant)
                share -= 1
    rng.shuffle(found)  # what has been tried when somebody loses patience is a sample too
    return found


def _sources(root: Path, folder: str) -> Iterator[Path]:
    for path in (root / folder).rglob("*.py"):
        if path.name != "__init__.py":
            yield path


def _shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Whole numbers by largest remainder."""
    sizes = {name: size for name, size in sizes.items() if size}
    total = sum(sizes.values())
    exact = {name: max(1.0, count * size / total) for name, size in sizes.items()}
    shares = {name: int(value) for name, value in exact.items()}
    for name in sorted(exact, key=lambda one: shares[one] - exact[one])[: max(0, count - sum(shares.values()))]:
        shares[name] += 1
    return shares


def _in_file(root: Path, path: Path, rng: random.Random) -> Mutant | None:
    source = path.read_text()
    silent = silent_lines(source)
    nodes = list(ast_nodes(tree_of(source)))
    for kind in rng.sample(sorted(KINDS), len(KINDS)):
        places = [place for place in _places(nodes, KINDS[kind]) if place[2] not in silent]
        for operator, occurrence, line in rng.sample(places, len(places)):
            mutant = Mutant(path.relative_to(root).as_posix(), kind, operator, occurrence, line)
            if _is_another_program(source, mutant.source(source)):
                return mutant
    return None


def _is_another_program(before: str, after: str) -> bool:
    """Whether a change is one, and not nonsense (as of the stars of `f(**a)`) or of an annotation that nobody reads.

    Words are compared for being the same. Which of two comes first in the alphabet is no question that a program asks
    by mistake: `kind <= "Pod"` differs from `kind == "Pod"` or does not by how the other kinds are spelt.
    """
    try:
        return _program(before) != _program(after) and _ordered_words(after) <= _ordered_words(before)
    except SyntaxError:
        return False


def _ordered_words(source: str) -> int:
    """How many comparisons ask whether something comes before or after a word."""
    return sum(
        any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
        and any(
            isinstance(part, ast.Constant) and isinstance(part.value, str) for part in (node.left, *node.comparators)
        )
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
    )


def _program(source: str) -> str:
    """The syntax tree without what changes nothing in a sound program.

    These are the annotations of functions and of variables outside of classes, how arguments have to be given, and
    whether a `zip` has to fit.
    """
    tree = ast.parse(source)
    fields = {id(one) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.posonlyargs, node.kwonlyargs = [], []
        elif isinstance(node, ast.Call):
            node.keywords = [one for one in node.keywords if one.arg != "strict"]
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign) and id(node) not in fields:
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.dump(tree)


def _places(nodes: list[Any], operators: Iterable[type[Operator]]) -> list[tuple[type[Operator], int, int]]:
    """Operator, occurrence and line of everything that operators of one kind can change."""
    found = []
    for operator in operators:
        made = operator()
        occurrence = 0
        for node in nodes:
            for start, _ in made.mutation_positions(node):
                found.append((operator, occurrence, start[0]))
                occurrence += 1
    return found
