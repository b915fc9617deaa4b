"""The files that the recorded commands work on, and a place that holds them."""

from __future__ import annotations

from pathlib import Path

from simcluster.models.userland.bare import PATH, BarePlace
from simcluster.models.userland.face import Face
from simcluster.models.userland.grammar import compile_script, complaint
from simcluster.models.userland.immediate import ImmediateRunner
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.memory import MemoryFiles
from simcluster.models.userland.outcome import Outcome
from tests.models.userland import operatorfiles

HERE = Path(__file__).parent
FILES = {
    "notes.txt": "alpha one\nbeta two\ngamma delta\nalphabet soup\n",
    "data.csv": "name,team,score\nann,red,10\nbob,blue,7\ncid,red,12\n",
    "nums.txt": "10\n9\n100\n1.5\n-3\n",
    "dup.txt": "a\na\nb\na\nc\nc\n",
    "table.txt": "web 120 a\ndb 80 b\ncache 300 a\nqueue 15 c\n",
    "sizes.txt": "1K\n2M\n512\n1G\n3K\n",
    "vers.txt": "v1.10\nv1.9\nv1.2\nv2.0\n",
    "case.txt": "b\nA\na\nB\n",
    "blank.txt": "one\n\n\ntwo\n\nthree\n",
    "tabs.txt": "a\tb\tc\nd\te\tf\n",
    "spaces.txt": "a   b  \nc    d\n",
    "long.txt": "the quick brown fox jumps over the lazy dog and runs away from everything that it has ever known\n",
    "regex.txt": "a.b\naxb\naab\naaab\nabab\naba\nabc\n123\nx y\n-x\n",
    "paths.txt": "/usr/bin/env\n/usr/lib/os-release\n/etc/passwd\n",
    "conf.ini": "# comment\n[a]\nport = 80\nhost=x\n[b]\nport=81\n",
    "a.txt": "apple 1\nbanana 2\ncherry 3\n",
    "b.txt": "banana 20\ncherry 3\ndate 40\n",
    "pats.txt": "alpha\nsoup\n",
    "lib.sh": "libf() { echo lib $1; }\n",
    "script.sh": '#!/bin/sh\necho "args: $#"\nfor a in "$@"; do echo "- $a"; done\nexit 3\n',
    "empty": "",
    "one.txt": "only\n",
    "copy.txt": "banana\n",
    "copy2.txt": "banana\n",
    "bin.dat": "\x01\x02printable\x00more text\x03\n",
    "pod.json": '{"kind":"List","items":[{"metadata":{"name":"web-1","labels":{"app":"web"}},"spec":{"nodeName":"n1"},'
                '"status":{"phase":"Running","containerStatuses":[{"name":"c","restartCount":3,"ready":true}]}},'
                '{"metadata":{"name":"db-0","labels":{"app":"db"}},"spec":{"nodeName":"n2"},'
                '"status":{"phase":"Pending","containerStatuses":null}}]}\n',
    "sub/deep.txt": "deep water\n",
    "sub/inner/deeper.txt": "deep space\n",
    "sub/other.log": "nothing\n",
}  # fmt: skip

#: List of recorded lines -> the files in the folder in which they run.
LISTS = {"commands": FILES} | {name: {**FILES, **operatorfiles.FILES} for name in ("operators", "dense", "oneliners")}


def _start() -> int:
    return 0


def place(face: Face, files_of: str = "commands") -> BarePlace:
    """A place of a face with the files of a list in /w."""
    files = MemoryFiles(_start)
    for path in ("/tmp", "/root", "/etc", "/var/log", "/w"):
        files.make_folders(path)
    for name, text in LISTS[files_of].items():
        files.put(f"/w/{name}", text, mode=0o755 if name.endswith("script.sh") else 0o644)
    return BarePlace(face, files, "host")


def run(command: str, face: Face, files_of: str = "commands") -> Outcome:
    """What a shell of the face answers to `sh -c COMMAND` in /w."""
    name = "bash" if face.bash else "sh"
    where = place(face, files_of)
    try:
        code = compile_script(command, face.shell)
    except ShellSyntaxError as problem:
        return Outcome(stderr=complaint(problem, face, name, command), code=2)
    runner = ImmediateRunner(where, 0)
    process = runner.launch(code, {"PATH": PATH, "HOME": "/root", "TERM": "dumb"}, name=name)
    process.cwd = "/w"
    return runner.finish()
