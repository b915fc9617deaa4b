"""simcluster.agents: the source folder is <repo>/agents; import it as `simcluster.agents`."""

if __name__ != "simcluster.agents":
    raise ImportError(f"import this package as simcluster.agents, not {__name__!r}")
