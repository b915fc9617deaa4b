"""simcluster.faults: the source folder is <repo>/faults; import it as `simcluster.faults`."""

if __name__ != "simcluster.faults":
    raise ImportError(f"import this package as simcluster.faults, not {__name__!r}")
