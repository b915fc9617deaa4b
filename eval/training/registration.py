"""The names under which Gymnasium knows the incidents."""

from __future__ import annotations

from pathlib import Path

#: Module and class, as Gymnasium imports them.
ENTRY = "simcluster.eval.training.environment:IncidentEnv"
NAMESPACE = "simcluster"
#: The folder of tasks, read without loading any of them.
_CATALOG = Path(__file__).resolve().parents[2] / "tasks" / "catalog"


def register() -> None:
    """Make every task of the catalog known as `simcluster/TASK-v0`, and any other as `simcluster/Incident-v0`.

    The latter takes `task=`: an id, a file, or one incident of a set such as `fresh:7:40`.
    """
    import gymnasium

    for name in ("Incident", *sorted(path.stem for path in _CATALOG.rglob("*.yaml"))):
        env_id = f"{NAMESPACE}/{name}-v0"
        if env_id not in gymnasium.registry:
            given = {} if name == "Incident" else {"task": name}
            gymnasium.register(id=env_id, entry_point=ENTRY, kwargs=given, nondeterministic=False)
