"""What a command does not need is not imported."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
from simcluster.cli import main
code = main(["--help"])
heavy = sorted(name for name in sys.modules if name in ("numpy", "pydantic", "simpy", "simcluster.engine"))
sys.exit(f"imported for --help: {heavy}" if heavy else code)
"""


def test_help_needs_nothing_of_the_simulation() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Commands" in done.stdout
