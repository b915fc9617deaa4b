"""simcluster.eval: the source folder is <repo>/eval; import it as `simcluster.eval`."""

if __name__ != "simcluster.eval":
    raise ImportError(f"import this package as simcluster.eval, not {__name__!r}")
