"""simcluster.models: the source folder is <repo>/models; import it as `simcluster.models`."""

if __name__ != "simcluster.models":
    raise ImportError(f"import this package as simcluster.models, not {__name__!r}")
