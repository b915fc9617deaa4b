"""Which tests execute a line."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, takewhile

#: In the environment of `tests.mutants.watch`: the file to write.
OUT = "SIMCLUSTER_MUTANTS_OUT"
#: In its environment: the files to watch, divided by line ends. Few of them are watched at little cost.
FILES = "SIMCLUSTER_MUTANTS_FILES"
#: What it writes: the tests with their seconds of CPU, those that fail, and the names of each file's lines.
Found = tuple[dict[str, float], set[str], dict[str, dict[int, list[str]]]]
#: CPU time of the tests that are tried on a mutant, as the run under coverage took it.
BUDGET_S = 40.0


@dataclass
class Reach:
    """The tests of a tree and the lines that they execute.

    Attributes:
        tests: their names and the seconds that each takes.
        lines: by file and line, the tests that execute it as bits of a number; line 0: those that import the file.
    """

    tests: list[tuple[str, float]] = field(default_factory=list)
    lines: dict[str, dict[int, int]] = field(default_factory=dict)

    def add(self, found: Found) -> None:
        """Take in what a file of tests reaches."""
        seconds, failed, reached = found
        sound = [(name, seconds[name]) for name in seconds if name not in failed]
        bits = {name: 1 << number for number, (name, _) in enumerate(sound, len(self.tests))}
        bits["shared"] = sum(bits.values())
        self.tests += sound
        for path, lines in reached.items():
            of_file = self.lines.setdefault(path, {})
            for line, names in ((0, ["shared"]), *lines.items()):
                if executing := _union(bits.get(name, 0) for name in names):
                    of_file[line] = of_file.get(line, 0) | executing

    def tests_of(self, path: str, source: str, line: int) -> list[str]:
        """The tests to try on a change of a line: the nearest first, then the quickest, as many as the budget allows.

        Near is a file of tests by how many folders it has in common with the source, in order.

        What runs on import (a table, a class) is noticed by the tests that run anything of the file, or import it
        when nothing of it runs.
        """
        lines = self.lines.get(path, {})
        running = {one: bits for one, bits in lines.items() if one}
        statement = _statement(ast.parse(source), line)
        if statement and running:
            executing = _union(running.get(one, 0) for one in statement)
        else:
            executing = _union(running.values()) or lines.get(0, 0)
        chosen = [test for number, test in enumerate(self.tests) if executing >> number & 1]
        folders = path.removeprefix("simcluster/").split("/")[:-1]
        files = [list(group) for _, group in groupby(chosen, lambda test: test[0].partition("::")[0])]
        files.sort(key=lambda group: (-_shared(group[0][0], folders), sum(seconds for _, seconds in group)))
        found, left = [], BUDGET_S
        for name, seconds in (test for group in files for test in sorted(group, key=operator.itemgetter(1))):
            if found and seconds > left:
                break
            found.append(name)
            left -= seconds
        return found


def _shared(test: str, folders: list[str]) -> int:
    """How many folders the way to a test has in common with the way to a source."""
    ways = zip(test.partition("::")[0].split("/")[1:-1], folders, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ways))


def _union(bits: Iterable[int]) -> int:
    return functools.reduce(operator.or_, bits, 0)


def _statement(tree: ast.Module, line: int) -> set[int]:
    """Lines of the statement on a line (of a compound one without what it holds); none outside of functions."""
    around = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and line in _lines(one)]
    if not any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and line >= one.body[0].lineno for one in around
    ):
        return set()
    inner = min(around, key=lambda one: (len(_lines(one)), -one.col_offset))
    held = [one for one in ast.walk(inner) if isinstance(one, ast.stmt) and one is not inner]
    return set(_lines(inner)).difference(*map(_lines, held)) | {line}


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
