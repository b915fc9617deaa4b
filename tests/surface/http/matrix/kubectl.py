"""The session with one kubectl."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.surface.http.matrix.operations import MANIFESTS, OPERATIONS, Operation

#: Seconds that one operation may take.
PATIENCE_S = 300


class Outcome(NamedTuple):
    """What came of an operation: `passed`, `failed`, or `none`, if the client has nothing of the kind."""

    operation: str
    verdict: str
    said: str = ""


class Kubectl:
    """One program and the folder in which it works."""

    def __init__(self, program: Path, kubeconfig: Path, scratch: Path) -> None:
        tools = scratch / "bin"
        tools.mkdir(parents=True)
        (tools / "kubectl").symlink_to(program.resolve())
        for name, text in MANIFESTS.items():
            (scratch / name).write_text(text)
        self.scratch = scratch
        self.environment = {
            "PATH": f"{tools}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": str(scratch),
            "KUBECONFIG": str(kubeconfig),
            "LC_ALL": "C.UTF-8",
        }
        said = self._bash("kubectl version --client")[1]
        found = re.search(r"v1\.(\d+)\.\d+", said)
        self.version, self.minor = (found[0], int(found[1])) if found else (said.strip(), 0)

    def session(self, operations: Iterable[Operation] = OPERATIONS) -> Iterator[Outcome]:
        """Run operations in order."""
        for operation in operations:
            if self.minor < operation.since:
                yield Outcome(operation.name, "none", f"needs kubectl 1.{operation.since}")
                continue
            code, said = self._bash(operation.script)
            passed = code == operation.code and re.search(operation.shows, said, re.M)
            yield Outcome(operation.name, "passed" if passed else "failed", f"exit code {code}\n{said}")

    def _bash(self, script: str) -> tuple[int, str]:
        try:
            ran = subprocess.run(
                ["bash", "-c", script],
                cwd=self.scratch,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE_S,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return -1, f"not within {PATIENCE_S} s: {(late.stdout or b'').decode()}"
        return ran.returncode, ran.stdout
