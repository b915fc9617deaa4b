"""OpenResty in front of the services: it resolves its name server's name when it starts, and its peers for every call.

The Lua scripts call `NAME` + `fqdn_suffix` at port 9090. Left out: its pages, media, `proxy_pass`.
"""

from __future__ import annotations

import re

from simcluster.engine import format_rfc3339
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree

CONFIGURATION = "/usr/local/openresty/nginx/conf/nginx.conf"
PEERS = ("compose-post-service", "home-timeline-service", "user-timeline-service")
PORT = 9090
_RESOLVER = re.compile(r"^\s*resolver\s+([^\s;]+)", re.MULTILINE)
#: What the scripts of an operation want to be told.
_WANTED = {"read": ("user_id", "start", "stop"), "compose": ("user_id", "username", "post_type", "text")}


class GatewayProgram(ServerProgram):
    """nginx-thrift, or the front end of media."""

    def start(self) -> None:
        """Read the configuration; without its name server it does not start."""
        suffix = self.environment.get("fqdn_suffix", "")
        self.environment = {**self.environment, **{name: f"{name}{suffix}:{PORT}" for name in PEERS}}
        self.environment["localAgentHostPort"] = "jaeger:6831"
        try:
            text = FileTree(self.container).read(CONFIGURATION)
        except FileError:
            self._emerge(f'open() "{CONFIGURATION}" failed (2: No such file or directory)')
            return
        found = _RESOLVER.search(text)
        host = found[1] if found is not None else ""
        if host and not self._traffic.network.resolve_for(self.container.sandbox, host).address:
            row = text[: found.start(1)].count("\n") + 1 if found is not None else 1
            self._emerge(f'host not found in resolver "{host}" in {CONFIGURATION}:{row}')
            return
        super().start()

    def answer(self, call: Call) -> Answer:
        """A request that lacks what a script wants is refused by the script."""
        path, _, query = call.path.partition("?")
        wanted = (
            _WANTED.get(path.rpartition("/")[2], ()) if path.startswith("/wrk2-api/") and call.kind == "http" else ()
        )
        given = {word.partition("=")[0] for word in query.split("&") if word.partition("=")[2]}
        if self.server is not None and wanted and wanted[0] == "user_id" and not given.issuperset(wanted):
            return Answer("ok", 400, "Incomplete arguments\n")
        return super().answer(call)

    def _emerge(self, why: str) -> None:
        stamp = format_rfc3339(self.container.sim.now)
        self.container.write(f"nginx: [emerg] {why}", "stderr")
        self.container.write(f"{stamp[:10].replace('-', '/')} {stamp[11:19]} [emerg] 1#1: {why}", "stderr")
        self.container.exit(1)
