"""`git clone` of repositories of the world outside, in images that bring git.

A clone needs the name of the forge and the way to it; what it copies are the folders that manifests read, one file in
each. Left out: everything else that git does, history, credentials.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall

#: Images that have it.
IMAGES = ("alpine/git", "bitnami/git")
#: A public forge, by an address of documentation (RFC 5737): nothing in the world answers there but this command.
FORGES = {"github.com": "203.0.113.80"}
#: Repositories: bytes that a clone moves, a magnitude, and files in it.
REPOSITORIES = {
    "delimitrou/DeathStarBench": (
        90_000_000,
        (
            "README.md",
            "socialNetwork/gen-lua/social_network_ttypes.lua",
            "socialNetwork/keys/CA.pem",
            "socialNetwork/media-frontend/lua-scripts/upload-media.lua",
            "socialNetwork/nginx-web-server/lua-scripts/wrk2-api/post/compose.lua",
            "socialNetwork/nginx-web-server/lua-scripts/wrk2-api/home-timeline/read.lua",
            "socialNetwork/nginx-web-server/lua-scripts/wrk2-api/user-timeline/read.lua",
            "socialNetwork/nginx-web-server/pages/index.html",
            "socialNetwork/openresty-thrift/lua-thrift/Thrift.lua",
        ),
    ),
}
#: What a clone of a repository gets from a forge, bytes a second; a magnitude.
RATE = 10_000_000
#: curl's default for a connection (CURLOPT_CONNECTTIMEOUT is 300 s), cut by Linux after its SYN retries.
_CONNECT_MS = 131_072
_USAGE = "usage: git clone [--] <repo> [<dir>]\n"


def _git(call: ToolCall) -> Outcome:
    if repository_of(call.container.spec.image) not in IMAGES:
        return Outcome(stderr=f"sh: {call.argv[0]}: not found\n", code=127)
    words = call.arguments
    if not words:
        return Outcome(_USAGE, code=1)
    if words[0] == "--version" or "--version" in call.argv:
        return Outcome("git version 2.45.2\n")
    if words[0] != "clone":
        return Outcome(stderr=f"git: '{words[0]}' is not a git command. See 'git --help'.\n", code=1)
    if len(words) < 2:
        return Outcome(stderr="fatal: You must specify a repository to clone.\n\n" + _USAGE, code=129)
    return _clone(call, words[1], words[2] if len(words) > 2 else "")


def _clone(call: ToolCall, url: str, target: str) -> Outcome:
    parts = urlsplit(url)
    name = parts.path.strip("/").removesuffix(".git")
    folder = call.path(target or name.rpartition("/")[2])
    if call.files.is_folder(folder) and call.files.entries(folder):
        why = f"fatal: destination path '{target or folder}' already exists and is not an empty directory.\n"
        return Outcome(stderr=why, code=128)
    said = f"Cloning into '{target or name.rpartition('/')[2]}'...\n"
    machine, sandbox, host = call.container.machine, call.container.sandbox, parts.hostname or ""
    found = machine.network.resolve_for(sandbox, host)
    failed = f"{said}fatal: unable to access '{url}': "
    if not found.address:
        return Outcome(stderr=f"{failed}Could not resolve host: {host}\n", code=128, delay_ns=found.delay_ns)
    way = machine.network.path(sandbox.node, "", sandbox.address)
    luck = mix(call.container.sim.streams.key("clone", call.container.container_id), call.now_ns) / (1 << 64)
    lost = not way.is_healthy and way.sample(luck) is None
    if found.address not in FORGES.values() or lost:
        why = f"Failed to connect to {host} port 443 after {_CONNECT_MS} ms: Could not connect to server\n"
        return Outcome(stderr=failed + why, code=128, delay_ns=found.delay_ns + _CONNECT_MS * MILLISECOND)
    known = REPOSITORIES.get(name)
    if known is None:
        why = f"{said}remote: Repository not found.\nfatal: repository '{url}' not found\n"
        return Outcome(stderr=why, code=128, delay_ns=found.delay_ns + SECOND // 2)
    size, files = known
    for path in (".git/HEAD", *files):
        call.files.make_folder(f"{folder}/{path}".rpartition("/")[0], parents=True)
        call.files.write(f"{folder}/{path}", f"# {path}\n")
    rate = min(RATE, way.bandwidth_bps // 8 or RATE)
    return Outcome(stderr=said, delay_ns=found.delay_ns + SECOND // 2 + size * SECOND // rate)


TOOLS: dict[str, Tool] = {"git": _git}
