"""The one table of tools: program -> what it does, for all faces and places."""

from __future__ import annotations

from simcluster.models.userland.place import Tool
from simcluster.models.userland.tools import (
    archives,
    arguments,
    blocks,
    changing,
    columns,
    diffing,
    dumps,
    figures,
    find,
    listing,
    openssl,
    printing,
    running,
    sort,
    sums,
    text,
)
from simcluster.models.userland.tools.awk import awk
from simcluster.models.userland.tools.bc import bc
from simcluster.models.userland.tools.grep import grep
from simcluster.models.userland.tools.jq import jq
from simcluster.models.userland.tools.sed import sed
from simcluster.models.userland.tools.tr import tr

TOOLS: dict[str, Tool] = {
    **archives.TOOLS,
    **arguments.TOOLS,
    **blocks.TOOLS,
    **changing.TOOLS,
    **columns.TOOLS,
    **diffing.TOOLS,
    **dumps.TOOLS,
    **figures.TOOLS,
    **find.TOOLS,
    **listing.TOOLS,
    **openssl.TOOLS,
    **printing.TOOLS,
    **running.TOOLS,
    **sort.TOOLS,
    **sums.TOOLS,
    **text.TOOLS,
    "awk": awk,
    "bc": bc,
    "egrep": grep,
    "fgrep": grep,
    "gawk": awk,
    "grep": grep,
    "jq": jq,
    "mawk": awk,
    "sed": sed,
    "tr": tr,
    "zgrep": grep,
}
#: Tools that every shell has built in.
BUILT_IN = ("[", "[[", "echo", "false", "printf", "pwd", "test", "true")
#: Filters that print as they read: what they had read when somebody presses Ctrl-C has been printed.
STREAMING = ("awk", "cat", "cut", "egrep", "fgrep", "grep", "head", "jq", "nl", "rev", "sed", "tee", "tr")
#: Tools that BusyBox has not, and those that an ordinary machine has only when somebody installs them.
GNU_ONLY = (
    "b2sum",
    "column",
    "csplit",
    "getconf",
    "gawk",
    "htop",
    "iotop",
    "jq",
    "join",
    "mawk",
    "mc",
    "nmon",
    "numfmt",
    "openssl",
    "sudo",
    "tmux",
    "whereis",
    "hd",
    "file",
    "zgrep",
    "vim",
)
SEPARATE = ("openssl", "htop", "iotop", "jq", "gawk", "tmux", "nmon", "mc", "busybox")
