"""simcluster.tasks: the source folder is <repo>/tasks; import it as `simcluster.tasks`."""

if __name__ != "simcluster.tasks":
    raise ImportError(f"import this package as simcluster.tasks, not {__name__!r}")

from simcluster.tasks.loader import check_kind, ids, load, path_of, suite, suites
from simcluster.tasks.model import Task, resolve

__all__ = ["Task", "check_kind", "ids", "load", "path_of", "resolve", "suite", "suites"]
