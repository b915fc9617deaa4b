"""`make mutants`: changes the program in small wrong ways and counts how many the tests notice.

Each mutant stands in a copy of the tree of its own; the tests that mirror its file run, the nearest first, until one
fails. A mutant that no test of its room notices has survived.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mirror import ROOMS, stages
from tests.mutants.sample import Mutant, drawn

ROOT = Path(__file__).resolve().parents[2]
#: A mutant that makes its tests run longer than this hangs, which is noticed.
LIMIT_S = 600
#: Bytecode is kept in the copies: most of a trial is the start.
_ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
#: Tests that were seen to pass without a mutant: others notice none by failing.
_SOUND: set[tuple[str, ...]] = set()
#: Share that has to be killed.
GOAL = 0.8


def main() -> int:
    """Draw, try, print; 1 if too many survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--count", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--seed", type=int, default=0, help="which (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--room", action="append", choices=sorted(ROOMS), help="only of these rooms")
    parser.add_argument("--json", action="store_true", help="one JSON object a mutant")
    options = parser.parse_args()
    rooms = {name: folder for name, folder in ROOMS.items() if not options.room or name in options.room}
    mutants = drawn(ROOT, rooms, options.count, options.seed)
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch, ThreadPoolExecutor(options.jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            trees.put(_copy(Path(scratch) / str(number)))
        verdicts = list(_shown(pool.map(lambda mutant: _try(mutant, trees), mutants), mutants, options.json))
    return _summary(mutants, verdicts, sys.stderr if options.json else sys.stdout)


def _copy(tree: Path) -> Path:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    return tree


def _try(mutant: Mutant, trees: SimpleQueue[Path]) -> str:
    """The test stage that noticed the mutant; empty if it survived."""
    tree = trees.get()
    path = tree / mutant.path
    before = path.read_text()
    path.write_text(mutant.source(before))
    try:
        for tests in stages(tree, mutant.path):
            if not _passes(tree, tests):
                path.write_text(before)
                if tests not in _SOUND and not _passes(tree, tests):
                    raise RuntimeError(f"{' '.join(tests)} fail as they are: mend them first")
                _SOUND.add(tests)
                return " ".join(tests)
        return ""
    finally:
        path.write_text(before)
        trees.put(tree)


def _passes(tree: Path, tests: tuple[str, ...]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(command, cwd=tree, env=_ENVIRONMENT, capture_output=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode in (0, 5)  # 5: there is no such test


def _shown(verdicts: Iterator[str], mutants: list[Mutant], as_json: bool) -> Iterator[str]:
    for mutant, verdict in zip(mutants, verdicts, strict=True):
        if as_json:
            print(json.dumps({"mutant": str(mutant), "kind": mutant.kind, "killed_by": verdict}), flush=True)
        else:
            print(f"{'killed by ' + verdict if verdict else 'SURVIVED':40} {mutant}", flush=True)
        yield verdict


def _summary(mutants: list[Mutant], verdicts: list[str], out: object) -> int:
    tried = Counter(mutant.kind for mutant in mutants)
    killed = Counter(mutant.kind for mutant, verdict in zip(mutants, verdicts, strict=True) if verdict)
    for kind in sorted(tried):
        print(f"{kind:12} {killed[kind]:4} of {tried[kind]:4} killed", file=out)  # type: ignore[call-overload]
    share = sum(killed.values()) / max(1, len(mutants))
    print(f"{'all':12} {sum(killed.values()):4} of {len(mutants):4} killed, {share:.0%} (goal {GOAL:.0%})", file=out)  # type: ignore[call-overload]
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
