"""nginx: reads its configuration, serves files, proxies, and ends as it does when it cannot work.

Left out: caches, rate limits, TLS, `rewrite` and `if`.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

import re2

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import uniform_at
from simcluster.models.apps.marks import nginx_time
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.machine.imagetools.network import contact
from simcluster.models.machine.names import is_address
from simcluster.models.machine.process import Call
from simcluster.models.machine.shell.files import FileError, parent_of
from simcluster.models.programs.nginxconf import ConfError, Directive, read_configuration
from simcluster.models.programs.web import REASONS, Ended, Page, WebProgram, content_type, header, path_of
from simcluster.models.traffic.cluster.operations import ANY_PATH, CallSpec, OperationSpec, ServiceSpec
from simcluster.models.userland.outcome import Outcome

#: `proxy_connect_timeout` and `proxy_read_timeout` by default.
PROXY_NS = 60 * SECOND
#: The last release of a minor one, and what `latest` is.
_RELEASES = {"1.14": "1.14.2", "1.16": "1.16.1", "1.19": "1.19.10", "1.20": "1.20.2", "1.21": "1.21.6",
             "1.22": "1.22.1", "1.23": "1.23.4", "1.24": "1.24.0", "1.25": "1.25.5", "1.26": "1.26.3"}  # fmt: skip
LATEST = "1.27.5"
_CONF = "/etc/nginx/nginx.conf"
_HTML = "/etc/nginx/html"
_TEMPORARY = ("client_temp", "proxy_temp", "fastcgi_temp", "uwsgi_temp", "scgi_temp")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_CONFD = "/etc/nginx/conf.d/default.conf"
_IPV6 = "10-listen-on-ipv6-by-default.sh: info: "


class Upstream(NamedTuple):
    """Where a location sends requests: host, port, and the path that takes the place of the location's."""

    host: str
    port: int
    path: str | None


class Nginx(WebProgram):
    """One nginx.

    Args as `WebProgram`; `argv` begins with the entry point's script where that has run before.
    """

    program = "nginx"
    traffic_line = '- - - [{time_clf}] "GET / HTTP/1.1" {status} {bytes} "-" "-" "-"'

    @property
    def version(self) -> str:
        """Its release, by the image's tag."""
        tag = self.container.spec.image.partition("@")[0].rpartition(":")[2].partition("-")[0]
        return _RELEASES.get(tag, tag if tag.count(".") == 2 and tag.replace(".", "").isdigit() else LATEST)

    def prepare(self) -> tuple[int, ...]:
        """Run the entry point's script, read the configuration, make folders."""
        words = list(self.argv)
        if words[0].endswith("docker-entrypoint.sh"):
            words = words[1:]
            self._entrypoint()
        given, path = self._options(words)
        self._configuration = self._read(path)
        extra = [word.partition("#")[0].strip().rstrip(";").split() for word in given]
        names = {words[0]: words[1:] for words in extra if words}
        for name in names:
            if name in ("worker_processes", "error_log", "pid", "user", "load_module", "env", "master_process"):
                continue
            if name != "daemon":
                raise self.emerg(f'unknown directive "{name}" in command line')
        daemon = names.get("daemon") or list((self._configuration.first("daemon") or Directive("", (), "", 0)).args)
        self.daemon = (daemon or ["on"])[0] != "off"
        self._resolve()
        self._make_folders()
        return tuple(self._by_port()) or (80,)

    def _options(self, words: list[str]) -> tuple[list[str], str]:
        given, path, rest = [], _CONF, words[1:]
        while rest:
            option = rest.pop(0)
            if option in ("-t", "-T", "-v", "-V", "-?", "-h"):
                result = self.run((words[0], option)) or Outcome("")
                for line in result.stdout.splitlines():
                    self.container.write(line)
                raise Ended(result.stderr, result.code)
            if option not in ("-g", "-c", "-p", "-e", "-q"):
                raise Ended(f'nginx: invalid option: "{option}"')
            if option == "-q":
                continue
            if not rest:
                raise Ended(f'nginx: option "{option}" requires parameter')
            value = rest.pop(0)
            if option == "-g":
                given += [part for part in value.split(";") if part.strip()]
                if value.strip() and not value.strip().endswith(";"):
                    raise self.emerg('unexpected end of parameter, expecting ";" in command line')
            elif option == "-c":
                path = value if value.startswith("/") else f"/etc/nginx/{value}"
        return given, path

    def emerg(self, text: str) -> Ended:
        """What it says before it ends: to the log of its container both by the error log and on the terminal."""
        stamp = nginx_time(self.container.sim.now)
        return Ended(f"{stamp} [emerg] 1#1: {text}\nnginx: [emerg] {text}")

    def _read(self, path: str) -> Directive:
        try:
            return read_configuration(self.files, path)
        except ConfError as error:
            raise self.emerg(str(error)) from None

    def _servers(self) -> list[Directive]:
        http = self._configuration.first("http")
        return http.every("server") if http is not None else []

    def _by_port(self) -> dict[int, list[Directive]]:
        found: dict[int, list[Directive]] = {}
        for server in self._servers():
            for listen in server.every("listen") or [Directive("listen", ("80",), "", 0)]:
                text = listen.args[0].rpartition(":")[2] if not listen.args[0].endswith("]") else "80"
                number = int(text) if text.isdigit() else 80
                if not 0 < number < 65536:
                    raise self.emerg(f'invalid port in "{listen.args[0]}" of the "listen" directive in '
                                     f"{listen.file}:{listen.line}")  # fmt: skip
                if server not in found.setdefault(number, []):
                    found[number].append(server)
        return found

    def _entrypoint(self) -> None:
        """What /docker-entrypoint.sh and its scripts print and do."""
        name = "/docker-entrypoint.sh: "
        say = self.container.write
        say(f"{name}/docker-entrypoint.d/ is not empty, will attempt to perform configuration")
        say(f"{name}Looking for shell scripts in /docker-entrypoint.d/")
        say(f"{name}Launching /docker-entrypoint.d/10-listen-on-ipv6-by-default.sh")
        try:
            text = self.files.read(_CONFD)
            writable = not self.container.uid or repository_of(self.container.spec.image) != "nginx"
            if not writable:
                raise FileError("Permission denied")
            self.files.write(_CONFD, text)
            say(f"{_IPV6}Getting the checksum of {_CONFD}")
            say(
                f"{_IPV6}"
                + (
                    f"Enabled listen on IPv6 in {_CONFD}"
                    if "listen  [::]" in text
                    else f"{_CONFD} differs from the packaged version"
                )
            )
        except FileError as error:
            missing = str(error) == "No such file or directory"
            say(_IPV6 + (f"{_CONFD} is not a file or does not exist" if missing else
                         f"can not modify {_CONFD} (read-only file system?)"))  # fmt: skip
        say(f"{name}Sourcing /docker-entrypoint.d/15-local-resolvers.envsh")
        say(f"{name}Launching /docker-entrypoint.d/20-envsubst-on-templates.sh")
        self._templates()
        say(f"{name}Launching /docker-entrypoint.d/30-tune-worker-processes.sh")
        say(f"{name}Configuration complete; ready for start up")

    def _templates(self) -> None:
        """`envsubst` over /etc/nginx/templates."""
        folder = "/etc/nginx/templates"
        if not self.files.is_folder(folder):
            return
        for each in self.files.entries(folder):
            if not each.endswith(".template"):
                continue
            target = f"/etc/nginx/conf.d/{each.removesuffix('.template')}"
            text = _VARIABLE.sub(self._substituted, self.files.read(f"{folder}/{each}"))
            self.container.write(f"20-envsubst-on-templates.sh: Running envsubst on {folder}/{each} to {target}")
            try:
                self.files.write(target, text)
            except FileError as error:
                self.container.write(f"can't create {target}: {error}", "stderr")

    def _substituted(self, match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return self.environment.get(name, match[0])

    def _make_folders(self) -> None:
        """Its folders for temporary files and its pid."""
        plain = repository_of(self.container.spec.image) == "nginx"
        base = "/var/cache/nginx" if plain else "/tmp"
        for name in _TEMPORARY if plain else ("client_temp",):
            path = f"{base}/{name}"
            mounted = any(path.startswith(mount.path.rstrip("/") + "/") for mount in self.container.mounts)
            if self.container.uid and plain and not mounted:
                raise self._warned(f'mkdir() "{path}" failed (13: Permission denied)')
            try:
                self.files.make_folder(path, parents=True)
            except FileError as error:
                if str(error) != "File exists":
                    raise self._warned(f'mkdir() "{path}" failed (30: {error})') from None
            if not self.container.uid and not self.container.may("CHOWN"):
                raise self._warned(f'chown("{path}", 101) failed (1: Operation not permitted)')
        pid = self._configuration.value("pid", "/run/nginx.pid")
        place = pid if not pid.startswith("/var/run/") or self._mounts("/var/run") else pid.removeprefix("/var")
        try:
            if not self.files.is_folder(parent_of(place)):
                self.files.make_folder(parent_of(place), parents=True)
            if self.container.uid and plain and not self._mounts(parent_of(place)):
                raise self._warned(f'open() "{pid}" failed (13: Permission denied)')
            self.files.write(place, "1\n")
        except FileError as error:
            raise self._warned(f'open() "{pid}" failed (30: {error})') from None

    def _mounts(self, path: str) -> bool:
        return any(mount.path.rstrip("/") == path for mount in self.container.mounts)

    def _warned(self, text: str) -> Ended:
        end = self.emerg(text)
        user = self._configuration.first("user")
        if not self.container.uid or user is None:
            return end
        why = 'the "user" directive makes sense only if the master process runs with super-user privileges, ignored in '
        return Ended(f"nginx: [warn] {why}{user.file}:{user.line}\n{end.text}")

    def _resolve(self) -> None:
        """Hosts of upstreams are looked up when it starts."""
        http = self._configuration.first("http")
        for upstream in http.every("upstream") if http is not None else ():
            for server in upstream.every("server"):
                self._find(server.args[0], server, "upstream")
        for server in self._servers():
            for location in _locations(server):
                target = location.first("proxy_pass")
                if target is not None and "$" not in target.args[0] and self._upstream_block(target) is None:
                    if not target.args[0].startswith(("http://", "https://")):
                        raise self.emerg(f"invalid URL prefix in {target.file}:{target.line}")
                    self._find(_parsed(target.args[0]).host, target, "upstream")

    def _find(self, host: str, where: Directive, what: str) -> None:
        name = host.partition(":")[0]
        if is_address(name) or name in ("localhost", "unix"):
            return
        if not self.container.machine.network.resolve_for(self.container.sandbox, name).address:
            shown = host if what != "upstream" or where.name == "server" else name
            raise self.emerg(f'host not found in {what} "{shown}" in {where.file}:{where.line}')

    def _upstream_block(self, target: Directive) -> Directive | None:
        http = self._configuration.first("http")
        name = _parsed(target.args[0]).host
        return next((each for each in (http.every("upstream") if http else ()) if each.args[0] == name), None)

    def conflict(self, port: int) -> None:
        """Five attempts, half a second apart."""
        stamp = nginx_time(self.container.sim.now)
        text = f"bind() to 0.0.0.0:{port} failed (98: Address already in use)"
        lines = [f"{stamp} [emerg] 1#1: {text}", f"nginx: [emerg] {text}"] * 5
        raise Ended(
            "\n".join([*lines, f"{stamp} [emerg] 1#1: still could not bind()", "nginx: [emerg] still could not bind()"])
        )

    def forbidden(self, port: int) -> None:
        """A low port without the right to it."""
        raise self.emerg(f"bind() to 0.0.0.0:{port} failed (13: Permission denied)")

    def started(self) -> tuple[str, ...]:
        """Notices of the master process."""
        marked = "{time_nginx} [notice] 1#1: "
        release = self.container.machine.identity.kernel_version
        notices = [
            'using the "epoll" event method',
            f"nginx/{self.version}",
            "built by gcc 12.2.0 (Debian 12.2.0-14+deb12u1)",
        ]
        notices += [f"OS: Linux {release}", "getrlimit(RLIMIT_NOFILE): 1048576:1048576", "start worker processes"]
        return (*(marked + text for text in notices), marked + "start worker process 29")

    # Requests.

    def page(self, call: Call) -> Page:
        """What the configuration gives for a request."""
        servers = self._by_port().get(call.port) or [Directive("server", (), _CONF, 1)]
        host = call.host.partition(":")[0]
        server = next((each for each in servers if any(host in n.args for n in each.every("server_name"))), servers[0])
        path = path_of(call)
        for _ in range(10):  # internal redirects: index, try_files
            location = _location(server, path)
            page = self._in(server, location, path, call)
            if isinstance(page, Page):
                return page
            path = page
        return self._error(500, call)

    def _in(self, server: Directive, location: Directive | None, path: str, call: Call) -> Page | str:
        place = location or server
        answer = place.first("return") or server.first("return")
        if answer is not None:
            return self._returned(answer, path, call)
        if place.first("stub_status") is not None:
            return Page(
                200,
                "Active connections: 1 \nserver accepts handled requests\n 1 1 1 \nReading: 0 Writing: 1 Waiting: 0 \n",
            )
        if any(each.args == ("all",) for each in place.every("deny")):
            return self._error(403, call, "access forbidden by rule")
        target = place.first("proxy_pass")
        if target is not None:
            return self._proxied(target, place, path, call)
        tries = place.first("try_files") or server.first("try_files")
        if tries is not None:
            for name in tries.args[:-1]:
                wanted = self._value(name, path, call)
                file = self._file(server, place, wanted)
                if self.files.is_file(file) or (wanted.endswith("/") and self.files.is_folder(file.rstrip("/") or "/")):
                    return self._static(server, place, wanted, call)
            last = tries.args[-1]
            return (
                self._error(int(last[1:]), call)
                if last[1:].isdigit() and last[0] == "="
                else self._value(last, path, call)
            )
        return self._static(server, place, path, call)

    def _returned(self, answer: Directive, path: str, call: Call) -> Page:
        code = int(answer.args[0]) if answer.args[0].isdigit() else 302
        text = self._value(answer.args[-1], path, call) if len(answer.args) > 1 or code == 302 else ""
        if code in (301, 302, 303, 307, 308) or not text:
            return self._error(code, call) if code >= 300 else Page(code)
        return Page(code, text.replace("\\n", "\n"), "text/plain")

    def _file(self, server: Directive, place: Directive, path: str) -> str:
        alias = place.value("alias")
        if alias:
            return alias + path[len(place.args[-1]) :]
        http = self._configuration.first("http")
        root = place.value("root") or server.value("root") or (http.value("root") if http else "") or _HTML
        return (root if root.startswith("/") else f"/etc/nginx/{root}").rstrip("/") + path

    def _static(self, server: Directive, place: Directive, path: str, call: Call) -> Page | str:
        file = self._file(server, place, path)
        if path.endswith("/"):
            names = (place.first("index") or server.first("index") or Directive("", ("index.html",), "", 0)).args
            for name in names:
                if self.files.is_file(file + name):
                    return self._static(server, place, path + name, call)
            folder = file.rstrip("/") or "/"
            if not self.files.is_folder(folder):
                return self._missing(file + names[0], call)
            if place.value("autoindex") == "on":
                rows = "".join(f'<a href="{name}">{name}</a>\n' for name in self.files.entries(folder))
                return Page(
                    200,
                    f"<html>\n<head><title>Index of {path}</title></head>\n<body>\n"
                    f"<h1>Index of {path}</h1><hr><pre>{rows}</pre><hr></body>\n</html>\n",
                    "text/html",
                )
            return self._error(403, call, f'directory index of "{file}" is forbidden')
        try:
            return Page(200, self.files.read(file), content_type(file))
        except FileError as error:
            if self.files.is_folder(file):
                return self._error(301, call)
            if "directory" not in str(error):
                return self._error(403, call, f'open() "{file}" failed (13: {error})')
            return self._missing(file, call)

    def _missing(self, file: str, call: Call) -> Page:
        return self._error(404, call, f'open() "{file}" failed (2: No such file or directory)')

    def _error(self, status: int, call: Call, why: str = "", upstream: str = "", delay_ns: int = 0) -> Page:
        reason = f"{status} {REASONS.get(status, '')}".strip()
        body = f"<html>\r\n<head><title>{reason}</title></head>\r\n<body>\r\n<center><h1>{reason}</h1></center>\r\n"
        body += f"<hr><center>nginx/{self.version}</center>\r\n</body>\r\n</html>\r\n"
        note = ""
        if why:
            request = f'request: "{call.method} {call.path} HTTP/1.1"{upstream}, host: "{call.host}"'
            stamp = nginx_time(self.container.sim.now)
            who = f"client: {call.source}, server: {self._name(call)}"
            note = f"{stamp} [error] 29#29: *1 {why}, {who}, {request}"
        return Page(status, body, "text/html", note, delay_ns)

    def _name(self, call: Call) -> str:
        servers = self._by_port().get(call.port)
        return servers[0].value("server_name") if servers else ""

    def _proxied(self, target: Directive, place: Directive, path: str, call: Call) -> Page:
        block = self._upstream_block(target)
        there = _parsed(self._value(target.args[0], path, call))
        if block is not None:
            servers = block.every("server")
            draw = uniform_at(self._key, self.container.sim.now) if len(servers) > 1 else 0.0
            chosen = _parsed("http://" + servers[int(draw * len(servers))].args[0])
            there = chosen._replace(path=there.path)
        rest = path if there.path is None else there.path + path[len(place.args[-1]) :] if place.args else there.path
        query = call.path.partition("?")[2]
        asked = call._replace(port=there.port, path=rest + (f"?{query}" if query else ""), host=there.host)
        reached = contact(self.container, there.host, asked, PROXY_NS)
        where = f', upstream: "http://{reached.address}:{there.port}{asked.path}"'
        if reached.outcome == "unknown host":
            return self._error(502, call, f"{there.host} could not be resolved (3: Host not found)")
        if reached.outcome == "timeout":
            return self._error(
                504,
                call,
                "upstream timed out (110: Connection timed out) while connecting to upstream",
                where,
                PROXY_NS,
            )
        answer = reached.answer
        if reached.outcome != "ok" or answer is None or answer.outcome != "ok" or not answer.status:
            refused = reached.outcome == "refused"
            why = (
                "connect() failed (111: Connection refused) while connecting to upstream"
                if refused
                else "upstream prematurely closed connection while reading response header from upstream"
            )
            return self._error(502, call, why, where, reached.delay_ns)
        return Page(answer.status, answer.body, answer.content_type, "", reached.delay_ns)

    def _value(self, text: str, path: str, call: Call) -> str:
        values = {
            "uri": path, "document_uri": path, "request_uri": call.path, "host": call.host.partition(":")[0],
            "http_host": call.host, "hostname": self.container.sandbox.pod_name, "remote_addr": call.source,
            "server_addr": self.container.sandbox.address, "server_port": str(call.port), "scheme": "http",
            "request_method": call.method, "args": call.path.partition("?")[2],
            "is_args": "?" if "?" in call.path else "",
        }  # fmt: skip
        return _VARIABLE.sub(functools.partial(_known, values, call), text)

    def access_line(self, call: Call, page: Page) -> str:
        """The format `main`."""
        http = self._configuration.first("http")
        server = next(iter(self._by_port().get(call.port, ())), None)
        if "off" in (http.value("access_log") if http else "", server.value("access_log") if server else ""):
            return ""
        return f'{self.clf(call, page)} "-" "{header(call, "user-agent")}" "{header(call, "x-forwarded-for")}"'

    def service_spec(self) -> ServiceSpec:
        """Users of it use what `location /` proxies to, too."""
        spec = super().service_spec()
        for server in self._servers():
            location = _location(server, "/")
            target = location.first("proxy_pass") if location is not None else None
            if target is None or "$" in target.args[0]:
                continue
            block = self._upstream_block(target)
            there = _parsed("http://" + block.value("server") if block is not None else target.args[0])
            name = "PROXY_PASS"
            self.environment = {**self.environment, name: f"{there.host}:{there.port}"}
            called = CallSpec(name, ANY_PATH, timeout_ns=PROXY_NS, client="http", status=502)
            operation = OperationSpec(ANY_PATH, "*", MILLISECOND // 10, steps=((called,),), log=spec.operations[0].log)
            return ServiceSpec(spec.name, "any", (operation,), idle_cores=spec.idle_cores, memory_base=spec.memory_base)
        return spec

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`nginx -t`, `-T`, `-v`, `-s reload` in the container."""
        if argv[0].rpartition("/")[2] not in ("nginx", "nginx-debug"):
            return None
        option = argv[1] if len(argv) > 1 else ""
        if option in ("-v", "-V"):
            return Outcome("", f"nginx version: nginx/{self.version}\n")
        if option not in ("-t", "-T", "-s"):
            text = "bind() to 0.0.0.0:80 failed (98: Address already in use)"
            return Outcome("", f"nginx: [emerg] {text}\n" * 5 + "nginx: [emerg] still could not bind()\n", 1)
        try:
            known = read_configuration(self.files, _CONF)
        except ConfError as error:
            failed = "" if option == "-s" else f"nginx: configuration file {_CONF} test failed\n"
            return Outcome("", f"nginx: [emerg] {error}\n{failed}", 1)
        if option == "-s":
            return self._signalled(argv[2] if len(argv) > 2 else "", known)
        said = f"nginx: the configuration file {_CONF} syntax is ok\n"
        said += f"nginx: configuration file {_CONF} test is successful\n"
        shown = f"# configuration file {_CONF}:\n{self.files.read(_CONF)}\n" if option == "-T" else ""
        return Outcome(shown, said)

    def _signalled(self, name: str, known: Directive) -> Outcome:
        if name in ("stop", "quit"):
            self.container.exit(0)
        elif name in ("reload", "reopen"):
            self._configuration = known
            self._ports = dict.fromkeys(self._by_port() or (80,))
            self.container.machine.network.version += 1
            stamp = nginx_time(self.container.sim.now)
            self.container.write(f"{stamp} [notice] 1#1: signal 1 (SIGHUP) received from 60, reconfiguring", "stderr")
            return Outcome("", f"{stamp} [notice] 60#60: signal process started\n")
        else:
            return Outcome("", f'nginx: invalid option: "-s {name}"\n', 1)
        return Outcome("")


def _known(values: dict[str, str], call: Call, match: re.Match[str]) -> str:
    name = match[1] or match[2]
    if name.startswith("http_"):
        return values.get(name) or header(call, name[5:].replace("_", "-"), "")
    return values.get(name, "")


def _locations(server: Directive) -> list[Directive]:
    return [each for outer in server.every("location") for each in (outer, *outer.every("location"))]


def _location(server: Directive, path: str) -> Directive | None:
    """The location of a path: an exact one, else the longest prefix unless a regular expression matches."""
    best: Directive | None = None
    for each in _locations(server):
        how, text = each.args[0] if len(each.args) > 1 else "", each.args[-1]
        if how == "=" and text == path:
            return each
        if how in ("", "^~") and path.startswith(text) and (best is None or len(text) > len(best.args[-1])):
            best = each
    if best is not None and best.args[0] == "^~":
        return best
    for each in _locations(server):
        if len(each.args) > 1 and each.args[0] in ("~", "~*") and _matches(each.args[1], path, each.args[0] == "~*"):
            return each
    return best


def _matches(pattern: str, path: str, folded: bool) -> bool:
    try:
        return re2.search(("(?i)" if folded else "") + pattern, path) is not None
    except re2.error:
        return False


def _parsed(url: str) -> Upstream:
    scheme, _, rest = url.rpartition("://")
    host, slash, path = rest.partition("/")
    name, _, port = host.partition(":")
    number = int(port) if port.isdigit() and 0 < int(port) < 65536 else 443 if scheme == "https" else 80
    return Upstream(name, number, "/" + path if slash else None)
