"""A pod's `/etc/resolv.conf` and `/etc/hosts`, from its DNS policy, DNS configuration and host aliases.

Source: pkg/kubelet/network/dns/dns.go (GetPodDNS, appendDNSConfig), kubelet_pods.go
(hostsEntriesFromHostAliases).
"""

from __future__ import annotations

from dataclasses import replace

from simcluster.api.objects import Json, namespace_of
from simcluster.control.kubelet.podspec import Pod
from simcluster.models.machine.names import ResolverConfig, cluster_first

#: What the resolvConf of a node (systemd-resolved's upstream) names.
NODE_RESOLVER = ResolverConfig(("172.18.0.1",))
#: What a resolver takes (MaxDNSNameservers, MaxDNSSearchPaths, MaxDNSSearchListChars).
_MOST_SERVERS, _MOST_PATHS, _MOST_CHARACTERS = 3, 32, 2048
_EXCEEDED = "{} limits were exceeded, some {} have been omitted, the applied {} line is: {}"


def resolver_of(pod: Pod, cluster_dns: tuple[str, ...]) -> ResolverConfig:
    """The pod's resolver configuration; `cluster_dns` is the kubelet's `clusterDNS`."""
    spec = pod["spec"]
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    if policy == "None":
        base = ResolverConfig()
    elif policy == "Default" or (policy == "ClusterFirst" and spec.get("hostNetwork")):
        base = NODE_RESOLVER
    else:
        base = replace(cluster_first("", namespace_of(pod)), servers=cluster_dns)
    extra: Json | None = spec.get("dnsConfig")
    return base if not extra else _extended(base, extra)


def within_limits(config: ResolverConfig) -> tuple[ResolverConfig, tuple[str, ...]]:
    """The configuration without what is too much, and what the pod's DNSConfigForming Events say of that."""
    messages = []
    servers, search = config.servers[:_MOST_SERVERS], config.search[:_MOST_PATHS]
    while len(" ".join(search)) > _MOST_CHARACTERS:
        search = search[:-1]
    if servers != config.servers:
        messages.append(_EXCEEDED.format("Nameserver", "nameservers", "nameserver", " ".join(servers)))
    if search != config.search:
        messages.append(_EXCEEDED.format("Search Line", "search paths", "search", " ".join(search)))
    return (replace(config, servers=servers, search=search) if messages else config), tuple(messages)


def _extended(base: ResolverConfig, extra: Json) -> ResolverConfig:
    servers = tuple(dict.fromkeys((*base.servers, *(extra.get("nameservers") or ()))))
    search = tuple(dict.fromkeys((*base.search, *(extra.get("searches") or ()))))
    options = dict(option.partition(":")[::2] for option in base.options)
    options.update({entry["name"]: str(entry.get("value") or "") for entry in extra.get("options") or ()})
    ndots = options.get("ndots", "")
    texts = tuple(f"{name}:{value}" if value else name for name, value in options.items())
    return ResolverConfig(servers, search, int(ndots) if ndots.isdigit() else 1, texts)


def host_aliases(pod: Pod) -> str:
    """The lines that `hostAliases` add to the pod's hosts file."""
    aliases = pod["spec"].get("hostAliases") or ()
    lines = [f"{alias['ip']}\t" + "\t".join(alias.get("hostnames") or ()) for alias in aliases]
    return "\n# Entries added by HostAliases.\n" + "\n".join(lines) + "\n" if lines else ""
