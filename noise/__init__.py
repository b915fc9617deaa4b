"""simcluster.noise: the source folder is <repo>/noise; import it as `simcluster.noise`."""

if __name__ != "simcluster.noise":
    raise ImportError(f"import this package as simcluster.noise, not {__name__!r}")
