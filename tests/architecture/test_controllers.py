"""A controller knows the API and what controllers share, not another controller."""

from __future__ import annotations

import ast
from pathlib import Path

CONTROL = Path(__file__).resolve().parents[2] / "simcluster" / "control"
#: What several controllers need.
SHARED = ("controllerref", "history", "nodes", "operator", "pods", "services", "volumes")


def test_no_controller_imports_another() -> None:
    folders = {path.name for path in CONTROL.iterdir() if (path / "__init__.py").exists()}
    assert set(SHARED) < folders
    wrong = []
    for path in sorted(CONTROL.glob("*/**/*.py")):
        own = path.relative_to(CONTROL).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("simcluster.control."):
                continue
            other = str(node.module).split(".")[2]
            if other in folders and other not in (own, *SHARED):
                wrong.append(f"{path.relative_to(CONTROL)}:{node.lineno}: {own} imports {node.module}")
            if own in SHARED and other in folders and other not in SHARED:
                wrong.append(f"{path.relative_to(CONTROL)}:{node.lineno}: what is shared stands below {other}")
    assert not wrong, "\n".join(wrong)
