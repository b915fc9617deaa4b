"""What a command is: how a clock charges it, and whether it may change the world.

kubectl is known by its verbs. On a node, what is not known here to only look may change the world; a command that may
counts as the operator's first write in the trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simcluster.engine import shellwords
from simcluster.session.clock import Charge
from simcluster.surface.kubectl.errors import KubectlError
from simcluster.surface.kubectl.kubectl import locate

#: Verbs of kubectl that only ask the API server.
_READS = (
    *("", "api-resources", "api-versions", "apply view-last-applied", "auth", "cluster-info", "completion", "config"),
    *("describe", "diff", "events", "explain", "get", "kustomize", "logs", "options", "plugin", "rollout history"),
    *("rollout status", "top", "version", "wait"),
)
#: Verbs that open a connection to a container.
_CONNECTIONS = ("attach", "cp", "debug", "exec", "port-forward", "proxy")


def kubectl_charge(command: str) -> Charge:
    """What a kubectl command line is.

    `look` is what opens a connection to a container or follows its log, `read` what only
    asks the API server, `write` everything else.

    >>> kubectl_charge("-n shop get pods"), kubectl_charge("logs -f x"), kubectl_charge("scale")
    ('read', 'look', 'write')
    """
    try:
        return _charge_of(shellwords.split(command))
    except ValueError:  # unbalanced quotes: kubectl will say so
        return "read"


def _charge_of(words: list[str]) -> Charge:
    try:
        path, _, rest = locate(words[1:] if words[:1] == ["kubectl"] else words)
    except KubectlError:  # no such verb
        return "read"
    verb = path.partition(" ")[0]
    if verb in _CONNECTIONS or (verb == "logs" and any(_follows(word) for word in rest)):
        return "look"
    if verb == "set" and "--list" in rest:
        return "read"
    return "read" if path in _READS or verb in _READS else "write"


#: So many words of a program are looked at for its verb.
_WORDS_READ = 400


def desk_charge(command: str) -> Charge:
    """What a command line at the desk is: a write if any of its programs may change the cluster.

    >>> desk_charge("kubectl get pods | wc -l"), desk_charge("ssh n1 df | grep x")
    ('read', 'look')
    >>> desk_charge("for p in a; do kubectl delete pod $p; done")
    'write'
    """
    charge: Charge = "read"
    try:
        words = list(_split(command))
    except ValueError:
        return "read"
    for at, (word, first) in enumerate(words):
        if not first and word not in ("kubectl", "k", "ssh"):
            continue
        rest = []
        for more, starts in words[at + 1 : at + _WORDS_READ]:
            if starts or more in _BETWEEN:
                break
            rest.append(more)
        found: Charge = "read"
        if word in ("kubectl", "k"):
            found = _charge_of(rest)
        elif word == "ssh":
            plain = [each for each in rest if not each.startswith("-")]
            found = "look" if only_looks(" ".join(plain[1:])) else "write"
        elif word in ("curl", "wget"):
            found = "look"
        charge = max(charge, found, key=("read", "look", "write").index)
        if charge == "write":
            break
    return charge


def _split(command: str) -> Iterator[tuple[str, bool]]:
    """Words of a command line, and whether each is the first of its program."""
    text = command.replace("$(", " ; ").replace("`", " ; ").replace("\n", " ; ")
    first = True
    for part in shellwords.tokens(text):
        separates = bool(part) and set(part) <= set("|&;()")
        if not separates:
            yield part, first
        first = separates or (
            first and part in ("do", "then", "else", "if", "while", "until", "!", "{", "time", "sudo", "xargs")
        )


def _follows(word: str) -> bool:
    if word.startswith("--"):
        return word in ("--follow", "--follow=true")
    return word.startswith("-") and "f" in word[1:] and word[1:2] not in ("c", "l", "n")


#: Programs that only look, whatever their arguments.
_ALWAYS = frozenset(
    (
        *(
            "cat",
            "ls",
            "stat",
            "file",
            "find",
            "du",
            "df",
            "free",
            "uptime",
            "uname",
            "hostname",
            "whoami",
            "id",
            "echo",
        ),
        *("grep", "egrep", "head", "tail", "sort", "uniq", "wc", "cut", "tr", "awk", "less", "more", "jq", "true"),
        *("ps", "top", "pgrep", "lsof", "vmstat", "iostat", "mpstat", "pidstat", "sar", "nproc", "lscpu", "findmnt"),
        *(
            "lsblk",
            "blkid",
            "ss",
            "netstat",
            "nstat",
            "ping",
            "dig",
            "nslookup",
            "journalctl",
            "last",
            "w",
            "which",
            "echo",
        ),
    )
)
#: Words after a program that make it look.
_WORDS: dict[str, tuple[str, ...]] = {
    "systemctl": ("status", "is-active", "is-enabled", "is-failed", "list-units", "list-timers", "show", "cat"),
    "crictl": ("ps", "pods", "images", "inspect", "inspectp", "inspecti", "logs", "stats", "statsp", "info", "version"),
    "chronyc": ("tracking", "sources", "sourcestats", "activity"),
    "timedatectl": ("status", "show", "timesync-status"),
    "nvme": ("list", "smart-log", "error-log", "id-ctrl"),
}
#: Options that make an otherwise looking program write.
_WRITING: dict[str, tuple[str, ...]] = {
    "find": ("-delete", "-exec", "-execdir", "-ok"),
    "journalctl": ("--rotate", "--flush", "--sync"),
    "awk": ("-i",),
    "sort": ("-o",),
}


def _sysctl(words: list[str]) -> bool:
    return not any("=" in word or word in ("-w", "-p", "--write", "--load", "--system") for word in words)


def _smartctl(words: list[str]) -> bool:
    return not any(word.startswith(("-t", "-X", "-s", "-o", "-S", "--test", "--set")) for word in words)


def _dmesg(words: list[str]) -> bool:
    return not any(word in ("-c", "-C", "--clear", "--read-clear", "-D", "-E", "-n") for word in words)


def _conntrack(words: list[str]) -> bool:
    return bool(words) and words[0] in ("-L", "-S", "-C", "-G", "--dump", "--stats", "--count", "--get")


def _show(words: list[str]) -> bool:
    """`ip` and `tc`: an object, and then nothing or a word that shows."""
    plain = [word for word in words if not word.startswith("-")]
    return len(plain) < 2 or plain[1] in ("show", "list", "ls", "get", "s", "sh")


def _no_words(words: list[str]) -> bool:
    return not words


def _ethtool(words: list[str]) -> bool:
    return (
        not words
        or not words[0].startswith("-")
        or words[0] in ("-S", "-i", "-k", "-g", "-a", "-c", "-T", "--statistics")
    )


def _sed(words: list[str]) -> bool:
    return not any(word.startswith(("-i", "--in-place")) for word in words)


def _date(words: list[str]) -> bool:
    return all(word.startswith("+") or word in ("-u", "-R", "-Is", "--utc") for word in words)


def _openssl(words: list[str]) -> bool:
    return words[:1] in (["verify"], ["x509"]) and "-out" not in words


_JUDGED: dict[str, Callable[[list[str]], bool]] = {
    "sysctl": _sysctl,
    "smartctl": _smartctl,
    "dmesg": _dmesg,
    "conntrack": _conntrack,
    "ip": _show,
    "tc": _show,
    "mount": _no_words,
    "ethtool": _ethtool,
    "sed": _sed,
    "date": _date,
    "openssl": _openssl,
}


#: What separates the programs of a command line.
_BETWEEN = frozenset(("|", "||", "&&", ";", "&"))


def only_looks(command: str) -> bool:
    """Whether a command line on a node certainly changes nothing: each of its programs only looks."""
    if "`" in command or "$(" in command:
        return False
    programs: list[list[str]] = [[]]
    redirected = False
    try:
        for part in shellwords.tokens(command):
            if redirected and part not in ("/dev/null", "1", "2"):
                return False
            redirected = part.startswith(">")
            if part in _BETWEEN:
                programs.append([])
            else:
                programs[-1].append(part)
    except ValueError:  # unbalanced quotes
        return False
    return all(_looks(program) for program in programs)


def _looks(words: list[str]) -> bool:
    if not words:
        return True
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "sudo":
        return _looks(rest)
    if name in _JUDGED:
        return _JUDGED[name](rest)
    if name in _WORDS:
        plain = [word for word in rest if not word.startswith("-")]
        return not plain or plain[0] in _WORDS[name]
    return name in _ALWAYS and not any(word in _WRITING.get(name, ()) for word in rest)
