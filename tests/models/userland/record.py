"""Writes `LIST.json.gz`: what bash with GNU tools and BusyBox answer to the lines of `LIST.txt`.

Run on a Debian machine with bash, mawk, jq, bc, xxd and busybox: `python -m tests.models.userland.record operators`.
Each line runs in a folder of its own with the files of `fixture.py`; what differs between two runs is left out. The
suite reads the answers only. A `⏎` in a line stands for the end of a line.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.models.userland.fixture import HERE, LISTS

_LIMIT_S = 5


def _run(argv: list[str], path: str, command: str, folder: Path, files: dict[str, str]) -> list[object]:
    work = Path(tempfile.mkdtemp(dir=folder))
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        if name.endswith("script.sh"):
            (work / name).chmod(0o755)
    env = {"PATH": path, "HOME": "/root", "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    try:
        done = subprocess.run(
            [*argv, command], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return ["", "timed out", -1]
    texts = [
        stream.decode("utf-8", "surrogateescape").replace(str(work), "/w") for stream in (done.stdout, done.stderr)
    ]
    return [*texts, done.returncode]


def main(chosen: str) -> None:
    """Run all lines of a list in both faces, twice."""
    with tempfile.TemporaryDirectory() as name:
        folder, applets = Path(name), Path(name, "bin")
        applets.mkdir()
        for applet in subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
            (applets / applet).symlink_to("/usr/bin/busybox")
        faces = {
            "bash": (["bash", "-c"], "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            "ash": ([str(applets / "sh"), "-c"], str(applets)),
        }
        answers: dict[str, dict[str, list[object]]] = {}
        for line in (HERE / f"{chosen}.txt").read_text().splitlines():
            command = line.replace("⏎", "\n")
            found = {}
            for face, (argv, path) in faces.items():
                first, second = (_run(argv, path, command, folder, LISTS[chosen]) for _ in range(2))
                if first == second and first[2] != -1:
                    found[face] = [
                        str(part).replace(str(applets) + "/", "") if isinstance(part, str) else part for part in first
                    ]
            answers[line] = found
    text = json.dumps(answers, ensure_ascii=False, separators=(",", ":"))
    written = HERE / f"{chosen}.json.gz"
    written.write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0))
    print(len(answers), sum(map(len, answers.values())), os.path.getsize(written))


if __name__ == "__main__":
    for each in sys.argv[1:] or LISTS:
        main(each)
