"""chronyd as far as a clock depends on it: where it asks for the time, whether anybody answers, what it says.

The servers are those of `/etc/chrony/chrony.conf` when the daemon starts, and what `chronyc add`
and `delete` change afterwards. Only the time server of the data centre answers; there is no way
to others. Left out: names of servers, authentication, reference clocks, servers that disagree.
Source of texts and periods: chrony 4.5 as Ubuntu 24.04 ships it.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.hostfiles import HostFiles

CONFIG = "/etc/chrony/chrony.conf"
#: The time server of the data centre: the link-local address that clouds use for it.
SERVER = "169.254.169.123"
#: Four requests, two seconds apart, after a start (iburst); then one every 64 s (minpoll 6).
POLL_NS = 64 * SECOND
BURST_NS = 6 * SECOND
_BURST = 4
_DIRECTIVES = ("server", "pool", "peer")
CONFIG_TEXT = f"""# Use servers from the data centre's network.
server {SERVER} iburst

# Location of the drift file, and how often the real-time clock follows.
driftfile /var/lib/chrony/chrony.drift
rtcsync

# Step the system clock instead of slewing it if the adjustment is larger than
# one second, but only in the first three clock updates.
makestep 1 3

# Stop bad estimates upsetting machine clock.
maxupdateskew 100.0
logdir /var/log/chrony
leapsectz right/UTC
"""
STARTING = (
    "chronyd version 4.5 starting (+CMDMON +NTP +REFCLOCK +RTC +PRIVDROP +SCFILTER +SIGND +ASYNCDNS +NTS +SECHASH "
    "+IPV6 -DEBUG)",
    "Using right/UTC timezone to obtain leap second data",
    "Loaded seccomp filter (level 1)",
)
NO_SOURCES = "Can't synchronise: no selectable sources"


def configured(files: HostFiles) -> tuple[str, ...]:
    """Servers of the configuration file; none if there is no such file."""
    found = files.find(CONFIG)
    words = [line.split() for line in found.text.splitlines()] if found is not None else []
    return tuple(dict.fromkeys(each[1] for each in words if len(each) > 1 and each[0] in _DIRECTIVES))


def answers(server: str) -> bool:
    """Whether there is a time server at this address."""
    return server == SERVER


def reach(server: str, asked_ns: int) -> int:
    """The reachability register after so long: one bit for each of the last eight requests that was answered."""
    if not answers(server):
        return 0
    sent = min(_BURST, asked_ns // (2 * SECOND) + 1) + max(0, asked_ns - BURST_NS) // POLL_NS
    return (1 << min(8, sent)) - 1
