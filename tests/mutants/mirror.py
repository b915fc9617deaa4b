"""Which tests mirror a file, the nearest first."""

from __future__ import annotations

from pathlib import Path

#: Folders of the rooms' sources.
ROOMS = {
    **{
        name: f"simcluster/{name}"
        for name in ("api", "apps", "cli", "control", "engine", "session", "surface", "telemetry", "world")
    },
    **{name: name for name in ("agents", "eval", "faults", "models", "noise", "tasks")},
}
#: Whole clusters in which every room below takes part, with all that they answer and become.
_SCENES = ("tests/control/test_scenes.py", "tests/surface/kubectl/test_scenes.py", "tests/world/test_scenes.py")
#: Rooms whose promises are also held by recordings of a real cluster, by the content that is written in their
#: language, or by whole worlds.
_BESIDE = {
    "api": (*_SCENES, "tests/golden"),
    "control": (*_SCENES, "tests/world", "tests/timeline"),
    "surface": (*_SCENES, "tests/golden"),
    "apps": ("tests/world",),
    "faults": ("tests/tasks",),
    "models": ("tests/apps", "tests/world"),
    "noise": ("tests/tasks",),
    "world": _SCENES,
    "engine": _SCENES,
    "session": _SCENES,
    "telemetry": _SCENES,
}


#: Rooms of rooms: what stands in one of them is not mirrored by the others' tests.
_HALLS = ("models",)


def stages(root: Path, source: str) -> list[tuple[str, ...]]:
    """Lists of test files and folders, each to be run when those before have noticed nothing."""
    parts = Path(source.removeprefix("simcluster/")).with_suffix("").parts
    found: list[tuple[str, ...]] = []
    folder = root / "tests" / Path(*parts[:-1])
    own = tuple(path.relative_to(root).as_posix() for path in sorted(folder.glob(f"test_{parts[-1]}*.py")))
    if own:
        found.append(own)
    for depth in range(len(parts) - 1, 1 if parts[0] in _HALLS else 0, -1):
        inner = root / "tests" / Path(*parts[:depth])
        if inner.is_dir():
            found.append((inner.relative_to(root).as_posix(),))
    found.extend((beside,) for beside in _BESIDE.get(parts[0], ()) if (root / beside).exists())
    return found
