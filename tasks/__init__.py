"""simcluster.tasks: the source folder is <repo>/tasks; import it as `simcluster.tasks`."""

if __name__ != "simcluster.tasks":
    raise ImportError(f"import this package as simcluster.tasks, not {__name__!r}")
