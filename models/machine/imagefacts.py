"""What everybody knows of public images: distribution, user, entry point, programs, files they bring.

Sources: the Dockerfiles of the official images at docker.io (nginx 1.27, httpd 2.4, python 3.12, node 20, busybox 1.36)
and of hashicorp/http-echo, traefik/whoami, nginxinc/nginx-unprivileged. Left out: every other file of a distribution.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from simcluster.engine import Shared
from simcluster.models.machine.imagereference import repository_of

#: Distributions: what /etc/os-release says. Alpine's and BusyBox' images have BusyBox' tools, `none` has none at all.
OS_RELEASE = {
    "busybox": "",
    "none": "",
    "alpine": (
        'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME="Alpine Linux v3.20"\n'
        'HOME_URL="https://alpinelinux.org/"\nBUG_REPORT_URL="https://gitlab.alpinelinux.org/alpine/aports/-/issues"\n'
    ),
    "debian": (
        'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\n'
        'VERSION="12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\nHOME_URL="https://www.debian.org/"\n'
        'SUPPORT_URL="https://www.debian.org/support"\nBUG_REPORT_URL="https://bugs.debian.org/"\n'
    ),
    "ubuntu": (
        'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nVERSION="22.04.5 LTS (Jammy Jellyfish)"\n'
        "VERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\nHOME_URL=\"https://www.ubuntu.com/\"\n"
    ),
}  # fmt: skip
_NGINX_CONF = """
user  nginx;
worker_processes  auto;

error_log  /var/log/nginx/error.log notice;
pid        /var/run/nginx.pid;


events {
    worker_connections  1024;
}


http {
    include       /etc/nginx/mime.types;
    default_type  application/octet-stream;

    log_format  main  '$remote_addr - $remote_user [$time_local] "$request" '
                      '$status $body_bytes_sent "$http_referer" '
                      '"$http_user_agent" "$http_x_forwarded_for"';

    access_log  /var/log/nginx/access.log  main;

    sendfile        on;
    #tcp_nopush     on;

    keepalive_timeout  65;

    #gzip  on;

    include /etc/nginx/conf.d/*.conf;
}
"""
_NGINX_DEFAULT = """server {
    listen       80;
    listen  [::]:80;
    server_name  localhost;

    #access_log  /var/log/nginx/host.access.log  main;

    location / {
        root   /usr/share/nginx/html;
        index  index.html index.htm;
    }

    #error_page  404              /404.html;

    # redirect server error pages to the static page /50x.html
    #
    error_page   500 502 503 504  /50x.html;
    location = /50x.html {
        root   /usr/share/nginx/html;
    }
}
"""
_STYLE = """<style>
html { color-scheme: light dark; }
body { width: 35em; margin: 0 auto;
font-family: Tahoma, Verdana, Arial, sans-serif; }
</style>
"""
_NGINX_PAGE = f"""<!DOCTYPE html>
<html>
<head>
<title>Welcome to nginx!</title>
{_STYLE}</head>
<body>
<h1>Welcome to nginx!</h1>
<p>If you see this page, the nginx web server is successfully installed and
working. Further configuration is required.</p>

<p>For online documentation and support please refer to
<a href="http://nginx.org/">nginx.org</a>.<br/>
Commercial support is available at
<a href="http://nginx.com/">nginx.com</a>.</p>

<p><em>Thank you for using nginx.</em></p>
</body>
</html>
"""
_NGINX_50X = f"""<!DOCTYPE html>
<html>
<head>
<title>Error</title>
{_STYLE}</head>
<body>
<h1>An error occurred.</h1>
<p>Sorry, the page you are looking for is currently unavailable.<br/>
Please try again later.</p>
<p>If you are the system administrator of this resource then you should check
the error log for details.</p>
<p><em>Faithfully yours, nginx.</em></p>
</body>
</html>
"""
_MIME = (
    "types {\n    text/html html htm shtml;\n    text/css css;\n    application/json json;\n    text/plain txt;\n}\n"
)
_NGINX_FILES = (
    ("/etc/nginx/nginx.conf", _NGINX_CONF),
    ("/etc/nginx/mime.types", _MIME),
    ("/etc/nginx/conf.d/default.conf", _NGINX_DEFAULT),
    ("/usr/share/nginx/html/index.html", _NGINX_PAGE),
    ("/usr/share/nginx/html/50x.html", _NGINX_50X),
)
_UNPRIVILEGED = tuple(
    (
        path,
        text.replace("user  nginx;\n", "").replace("/var/run/nginx.pid", "/tmp/nginx.pid")
        if path == "/etc/nginx/nginx.conf"
        else text.replace(":80;", ":8080;").replace("listen       80;", "listen       8080;"),
    )
    for path, text in _NGINX_FILES
)
_HTTPD_FILES = (("/usr/local/apache2/htdocs/index.html", "<html><body><h1>It works!</h1></body></html>\n"),)


@dataclass(frozen=True)
class ImageFacts(Shared):
    """One image.

    Attributes:
        base: distribution, a key of `OS_RELEASE`.
        entrypoint, cmd: what runs without `command` and `args`.
        programs: what it has beside the tools of its distribution; absent: tools that others have and it has not.
        user: name and id of the user its processes have.
        workdir: where they start.
        files: paths and texts.
    """

    base: str = "debian"
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    user: tuple[str, int] = ("root", 0)
    workdir: str = "/"
    files: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()

    def argv(self, command: tuple[str, ...], args: tuple[str, ...]) -> tuple[str, ...]:
        """What a container runs: `command` takes the place of entry point and arguments, `args` of the latter.

        >>> ImageFacts(entrypoint=("/e",), cmd=("a",)).argv((), ("b",))
        ('/e', 'b')
        """
        return (*command, *args) if command else (*self.entrypoint, *(args or self.cmd))


#: What Debian's own image lacks, and with it those built on its slim variant: procps, iproute2, iputils, dnsutils, ...
_SLIM = (
    *(
        "ps",
        "top",
        "free",
        "pgrep",
        "pkill",
        "uptime",
        "watch",
        "ip",
        "ss",
        "ifconfig",
        "route",
        "arp",
        "netstat",
        "ping",
    ),
    *("wget", "nslookup", "dig", "host", "nc", "telnet", "traceroute", "jq", "vim", "vi", "less", "file", "bc", "git"),
    *("tcpdump", "lsof", "stress", "openssl", "bzip2", "xz", "zip", "unzip", "patch", "killall", "hd", "xxd", "column"),
)
#: What no image made of BusyBox alone has.
_NO_BUSYBOX = ("curl", "dig", "host", "ss", "git", "openssl", "stress", "tcpdump")
_SHELL = ImageFacts(cmd=("bash",), absent=(*_SLIM, "curl"))
_PYTHON = ImageFacts(cmd=("python3",), programs=("python", "python3", "pip", "pip3"))
_NGINX = ImageFacts(
    entrypoint=("/docker-entrypoint.sh",),
    cmd=("nginx", "-g", "daemon off;"),
    programs=("nginx", "nginx-debug"),
    files=_NGINX_FILES,
    absent=_SLIM,
)
_KNOWN = {
    "alpine": ImageFacts("alpine", cmd=("/bin/sh",), absent=_NO_BUSYBOX),
    "busybox": ImageFacts("busybox", cmd=("sh",), absent=_NO_BUSYBOX),
    "registry.k8s.io/busybox": ImageFacts("busybox", cmd=("sh",), absent=_NO_BUSYBOX),
    "gcr.io/google_containers/busybox": ImageFacts("busybox", cmd=("sh",), absent=_NO_BUSYBOX),
    "bash": ImageFacts("alpine", cmd=("bash",)),
    "centos": _SHELL,
    "debian": _SHELL,
    "fedora": _SHELL,
    "ubuntu": ImageFacts("ubuntu", cmd=("bash",), absent=(*_SLIM[7:], "curl")),
    "nicolaka/netshoot": ImageFacts("alpine", cmd=("zsh",), programs=("tcpdump", "jq", "bash")),
    "registry.k8s.io/e2e-test-images/agnhost": ImageFacts("alpine", ("/agnhost",), ("pause",), ("agnhost",)),
    "curlimages/curl": ImageFacts("alpine", ("/entrypoint.sh",), ("curl",), user=("curl_user", 100)),
    "python": _PYTHON,
    "node": ImageFacts(cmd=("node",), programs=("node", "npm", "npx", "yarn")),
    "perl": ImageFacts(cmd=("perl",), programs=("perl",)),
    "ruby": ImageFacts(cmd=("irb",), programs=("ruby", "irb")),
    "golang": ImageFacts(cmd=("bash",), programs=("go",), workdir="/go"),
    "nginx": _NGINX,
    "nginxinc/nginx-unprivileged": ImageFacts(
        entrypoint=_NGINX.entrypoint,
        cmd=_NGINX.cmd,
        programs=_NGINX.programs,
        user=("nginx", 101),
        files=_UNPRIVILEGED,
        absent=_SLIM,
    ),
    "httpd": ImageFacts(
        cmd=("httpd-foreground",),
        programs=("httpd", "httpd-foreground"),
        workdir="/usr/local/apache2",
        files=_HTTPD_FILES,
        absent=(*_SLIM, "curl"),
    ),
    "hashicorp/http-echo": ImageFacts("none", ("/http-echo",), (), ("http-echo",), ("nonroot", 65532)),
    "registry.k8s.io/etcd": ImageFacts("none", programs=("etcd", "etcdctl", "etcdutl")),
    "traefik/whoami": ImageFacts("none", ("/whoami",), (), ("whoami",)),
}


#: The newest versions that official images have, as far as their makers number them (docker.io, January 2026).
_NEWEST = {
    "alpine": (3, 23), "busybox": (1, 37), "debian": (13,), "golang": (1, 25), "httpd": (2, 4), "mongo": (8, 2),
    "mysql": (9, 5), "nginx": (1, 29), "node": (25,), "postgres": (18,), "python": (3, 14), "redis": (8, 4),
    "ubuntu": (25, 10),
}  # fmt: skip
_VERSION = re.compile(r"v?(\d{1,6}(?:\.\d{1,6})*)")


def is_published(image: str, tag: str) -> bool:
    """Whether a tag of an image is not of a version that its makers have yet to make; of others nothing is known.

    >>> is_published("nginx:1.161", "1.161"), is_published("nginx:1.27-alpine", "1.27-alpine"), is_published("a", "99")
    (False, True, True)
    """
    newest, version = _NEWEST.get(repository_of(image)), _VERSION.match(tag)
    if newest is None or version is None:
        return True
    given = tuple(int(part) for part in version[1].split("."))
    return len(version[1]) > 7 or given[: len(newest)] <= newest


@functools.lru_cache(maxsize=1024)
def facts_of(image: str) -> ImageFacts | None:
    """What is known of an image; None of one that only its makers know.

    >>> facts_of("python:3.12-alpine").base, facts_of("docker.io/library/nginx:1.27").cmd[0], facts_of("acme/shop")
    ('alpine', 'nginx', None)
    """
    repository = repository_of(image)
    if repository.startswith("gcr.io/distroless/"):
        return ImageFacts("none", user=("nonroot", 65532) if "nonroot" in image else ("root", 0))
    found = _KNOWN.get(repository)
    if found is None or "alpine" not in image.partition("@")[0].rpartition(":")[2]:
        return found
    absent = tuple(name for name in _NO_BUSYBOX if name != "curl" or "curl" in found.absent)
    return ImageFacts(
        "alpine", found.entrypoint, found.cmd, found.programs, found.user, found.workdir, found.files, absent
    )


@functools.lru_cache(maxsize=256)
def files_of(image: str) -> dict[str, str]:
    """The files that an image brings, by path; not to be changed."""
    facts = facts_of(image)
    if facts is None:
        return {"/etc/os-release": 'NAME="BusyBox"\nID=busybox\nPRETTY_NAME="BusyBox v1.36.1"\n'}
    release = OS_RELEASE[facts.base]
    more = {"alpine": {"/etc/alpine-release": "3.20.3\n"}, "debian": {"/etc/debian_version": "12.8\n"}}
    return {**more.get(facts.base, {}), **dict(facts.files), **({"/etc/os-release": release} if release else {})}
