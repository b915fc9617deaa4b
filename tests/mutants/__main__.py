"""`make mutants`: changes the program in small wrong ways and counts how many the tests notice.

The suite is run once, one folder after the other under `coverage` of the files that change, to learn which tests
execute which line; that is kept, folder by folder, for the same tree and mutants. Each mutant stands in a copy of the
tree, in which the tests that execute its line run until one fails. A mutant that none of them notices has survived,
and so has one on a line that no test executes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import cast

from tests.mutants.reach import FILES, OUT, Found, Reach
from tests.mutants.sample import ROOMS, Mutant, drawn

ROOT = Path(__file__).resolve().parents[2]
#: What the tests reach is kept here.
KEPT = ROOT / ".mutants_cache"
#: A mutant that makes its tests run longer than this hangs, which is noticed.
LIMIT_S = 300
#: Share that has to be killed.
GOAL = 0.8
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")


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
        reach = _reach(sorted({mutant.path for mutant in mutants}), trees, pool)
        verdicts = pool.map(lambda one: _try(*one, reach, trees), enumerate(mutants))
        killers = list(_shown(verdicts, mutants, options.json))
    return _summary(mutants, killers, sys.stderr if options.json else sys.stdout)


def _environment(tree: Path) -> dict[str, str]:
    """For the tests of a copy: they and their child processes import it, and keep bytecode in it."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": "", "PYTHONPATH": str(tree)}


def _names() -> list[str]:
    """The files of the tree that git knows or would."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return sorted(name for name in listed.split("\0") if (ROOT / name).is_file())


def _copy(tree: Path) -> Path:
    for name in _names():
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    for link in (ROOT / "simcluster").iterdir():
        if link.is_symlink():
            (tree / "simcluster" / link.name).symlink_to(link.readlink())
    return tree


def _reach(paths: list[str], trees: SimpleQueue[Path], pool: ThreadPoolExecutor) -> Reach:
    """Which tests execute which line of these files of this tree, as was found before or is now."""
    names, files = _names(), "\n".join(paths)
    contents = b"".join(name.encode() + (ROOT / name).read_bytes() for name in names)
    kept = KEPT / hashlib.sha256(files.encode() + contents).hexdigest()[:16]
    for old in set(KEPT.glob("*")) - {kept}:
        shutil.rmtree(old)
    kept.mkdir(parents=True, exist_ok=True)
    reach = Reach()
    folders = sorted({name.rpartition("/")[0] for name in names if re.match("tests/.*/test_", name)})
    for found in pool.map(lambda folder: _watched(folder, names, files, trees, kept), folders):
        reach.add(found)
    return reach


def _watched(folder: str, names: list[str], files: str, trees: SimpleQueue[Path], kept: Path) -> Found:
    """What the tests that stand in a folder itself execute of these files, as was kept or is found now."""
    known = kept / f"{folder.replace('/', '.')}.pickle"
    if known.exists():
        return cast(Found, pickle.loads(known.read_bytes()))
    tests = [name for name in names if re.fullmatch(re.escape(folder) + r"/test_[^/]*\.py", name)]
    tree = trees.get()
    out = tree / "reach.pickle"
    try:
        command = [*_PYTEST, "-p", "tests.mutants.watch", *tests]
        run = subprocess.run(
            command, cwd=tree, env=_environment(tree) | {OUT: str(out), FILES: files}, capture_output=True, check=False
        )
        if run.returncode:
            print(f"{folder} fails as it is:\n{run.stdout.decode()[-2000:]}", file=sys.stderr)
        found: Found = pickle.loads(out.read_bytes())
        known.write_bytes(out.read_bytes())
        return found
    finally:
        out.unlink(missing_ok=True)
        trees.put(tree)


def _try(number: int, mutant: Mutant, reach: Reach, trees: SimpleQueue[Path]) -> str:
    """The test that noticed the mutant; empty if it survived."""
    tree = trees.get()
    path = tree / mutant.path
    before = path.read_text()
    try:
        path.write_text(mutant.source(before))
        os.utime(path, (number, number))  # no two share their bytecode
        return _failing(tree, reach.tests_of(mutant.path, before, mutant.line))
    finally:
        path.write_text(before)
        trees.put(tree)


def _failing(tree: Path, tests: list[str]) -> str:
    """The first of these tests that fails, run in this order; empty if all pass."""
    if not tests:
        return ""
    (tree / "tests.txt").write_text("\n".join(tests))
    command = [*_PYTEST, "-x", "@tests.txt"]
    try:
        run = subprocess.run(
            command, cwd=tree, env=_environment(tree), capture_output=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "a test that hangs"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout.decode(), re.M)
    return "" if run.returncode == 0 else failed[1] if failed else "tests that cannot run"


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
