"""A session behind sockets: for `simcluster serve`, and for commands as agents (`cmd: …`). Needs the extra `serve`."""
