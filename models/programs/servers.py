"""Small web servers: BusyBox' httpd, Python's http.server, Apache, http-echo, whoami.

Left out: CGI, .htaccess and every directive of httpd.conf but `Listen` and `DocumentRoot`.
"""

from __future__ import annotations

import html

from simcluster.engine import format_rfc3339
from simcluster.engine.clock import month_name, weekday
from simcluster.models.machine.process import Call
from simcluster.models.machine.shell.files import FileError, normalize
from simcluster.models.programs.web import Ended, Page, WebProgram, clf_time, content_type, header, path_of


def port_number(text: str) -> int | None:
    """A port as `8080`, `:8080` or `0.0.0.0:8080`; None if it is none.

    >>> port_number(":8080"), port_number("x")
    (8080, None)
    """
    last = text.rpartition(":")[2]
    return int(last) if last.isdecimal() and len(last) < 6 and 0 < int(last) < 65536 else None


class BusyboxHttpd(WebProgram):
    """`httpd [-f] [-p [IP:]PORT] [-h HOME]`."""

    program = "httpd"

    def prepare(self) -> tuple[int, ...]:
        """Read the options."""
        port, self.home, words = 80, self.workdir, list(self.argv[1:])
        self.daemon = True
        while words:
            word = words.pop(0)
            letters = word[1:] if word.startswith("-") else ""
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter in "fvi":
                    self.daemon = self.daemon and letter == "v"
                elif letter in "phcurd":
                    value, letters = letters or (words.pop(0) if words else ""), ""
                    if letter == "p":
                        number = port_number(value)
                        if number is None:
                            raise Ended(f"httpd: bad port '{value}'")
                        port = number
                    elif letter == "h":
                        self.home = normalize(value, self.workdir)
                        if not self.files.is_folder(self.home):
                            raise Ended(f"httpd: can't change directory to '{value}': No such file or directory")
                else:
                    raise Ended(f"httpd: invalid option -- '{letter}'\nBusyBox v1.36.1 multi-call binary.")
        return (port,)

    def page(self, call: Call) -> Page:
        """A file, index.html of a folder, or its error pages."""
        path = normalize(path_of(call))
        file = self.home.rstrip("/") + path
        if self.files.is_folder(file.rstrip("/") or "/"):
            file = file.rstrip("/") + "/index.html"
        try:
            return Page(200, self.files.read(file), content_type(file))
        except FileError:
            reason = "404 Not Found"
            body = f"<HTML><HEAD><TITLE>{reason}</TITLE></HEAD>\n<BODY><H1>{reason}</H1>\n"
            return Page(404, f"{body}The requested URL was not found\n</BODY></HTML>\n", "text/html")


class PythonServer(WebProgram):
    """`python -m http.server [-b ADDRESS] [-d DIRECTORY] [PORT]`."""

    program = "python3"
    access_stream = "stderr"

    def prepare(self) -> tuple[int, ...]:
        """Read the arguments behind `-m http.server`."""
        words = list(self.argv[self.argv.index("-m") + 2 :])
        self.home, port = self.workdir, 8000
        usage = "usage: server.py [-h] [--cgi] [-b ADDRESS] [-d DIRECTORY] [-p VERSION] [port]\nserver.py: error: "
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if name in ("-b", "--bind", "-d", "--directory", "-p", "--protocol"):
                if not equals and not words:
                    raise Ended(f"{usage}argument {name}: expected one argument", 2)
                value = value if equals else words.pop(0)
                self.home = normalize(value, self.workdir) if name in ("-d", "--directory") else self.home
            elif word.isdecimal() and 0 < int(word[:9]) < 65536:
                port = int(word)
            elif word.startswith("-"):
                raise Ended(f"{usage}unrecognized arguments: {word}", 2)
            else:
                raise Ended(f"{usage}argument port: invalid int value: '{word}'", 2)
        return (port,)

    def conflict(self, port: int) -> None:
        """As `socket.bind` raises it."""
        raise Ended("Traceback (most recent call last):\nOSError: [Errno 98] Address already in use")

    def forbidden(self, port: int) -> None:
        """As `socket.bind` raises it."""
        raise Ended("Traceback (most recent call last):\nPermissionError: [Errno 13] Permission denied")

    def page(self, call: Call) -> Page:
        """A file, a folder's index.html, or its list."""
        if call.method not in ("GET", "HEAD"):
            return _python_error(501, f"Unsupported method ('{call.method}')")
        path = path_of(call)
        file = self.home.rstrip("/") + normalize(path)
        folder = file.rstrip("/") or "/"
        if self.files.is_folder(folder):
            if not path.endswith("/"):
                return Page(301)
            index = folder.rstrip("/") + "/index.html"
            if not self.files.is_file(index):
                return Page(200, self._listing(path, folder), "text/html")
            file = index
        try:
            return Page(200, self.files.read(file), content_type(file))
        except FileError:
            return _python_error(404, "File not found")

    def _listing(self, path: str, folder: str) -> str:
        title = f"Directory listing for {html.escape(path)}"
        rows = ""
        for name in self.files.entries(folder):
            shown = name + ("/" if self.files.is_folder(f"{folder.rstrip('/')}/{name}") else "")
            rows += f'<li><a href="{html.escape(shown)}">{html.escape(shown)}</a></li>\n'
        head = '<!DOCTYPE HTML>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        tail = f"<h1>{title}</h1>\n<hr>\n<ul>\n{rows}</ul>\n<hr>\n</body>\n</html>\n"
        return f"{head}<title>{title}</title>\n</head>\n<body>\n{tail}"

    def access_line(self, call: Call, page: Page) -> str:
        """The line of `BaseHTTPRequestHandler.log_request`."""
        stamp = clf_time(self.container.sim.now).removesuffix(" +0000").replace(":", " ", 1)
        line = f"{call.source} - - [{stamp}] "
        missing = f"{line}code {page.status}, message File not found\n" if page.status == 404 else ""
        return f'{missing}{line}"{call.method} {call.path} HTTP/1.1" {page.status} -'


def _python_error(status: int, why: str) -> Page:
    body = f"<!DOCTYPE HTML>\n<html lang=\"en\">\n    <head>\n        <title>Error response</title>\n    </head>\n    <body>\n        <h1>Error response</h1>\n        <p>Error code: {status}</p>\n        <p>Message: {why}.</p>\n    </body>\n</html>\n"  # fmt: skip  # noqa: E501
    return Page(status, body, "text/html")


class Scripted(PythonServer):
    """A script of Python that serves one text with one status on a port, as `HTTPServer` and a small handler do.

    Its `argv` is that of the interpreter, then what the script says: port, status and text.
    """

    def prepare(self) -> tuple[int, ...]:
        """What was read from the script."""
        self.status, self.text = int(self.argv[-2]), self.argv[-1]
        return (int(self.argv[-3]),)

    def page(self, call: Call) -> Page:
        """Always the same."""
        return Page(self.status, self.text)


class Apache(WebProgram):
    """`httpd-foreground` of Apache."""

    program = "httpd"
    traffic_line = '- - - [{time_clf}] "GET / HTTP/1.1" {status} {bytes}'
    CONF = "/usr/local/apache2/conf/httpd.conf"

    def prepare(self) -> tuple[int, ...]:
        """Read `Listen` and `DocumentRoot`."""
        self.home = "/usr/local/apache2/htdocs"
        ports: list[int] = []
        text = self.files.read(self.CONF) if self.files.is_file(self.CONF) else "Listen 80\n"
        for line in text.splitlines():
            words = line.split()
            if len(words) == 2 and words[0].lower() == "listen":
                ports.append(port_number(words[1]) or 80)
            elif len(words) == 2 and words[0].lower() == "documentroot":
                self.home = words[1].strip('"')
        if not ports:
            raise Ended("(2)No such file or directory: AH00015: no listening sockets available, shutting down")
        return tuple(dict.fromkeys(ports))

    def conflict(self, port: int) -> None:
        """As it says it."""
        end = "no listening sockets available, shutting down\nAH00015: Unable to open logs"
        raise Ended(f"(98)Address already in use: AH00072: make_sock: could not bind to address 0.0.0.0:{port}\n{end}")

    def forbidden(self, port: int) -> None:
        """As it says it."""
        end = "no listening sockets available, shutting down\nAH00015: Unable to open logs"
        raise Ended(f"(13)Permission denied: AH00072: make_sock: could not bind to address 0.0.0.0:{port}\n{end}")

    def started(self) -> tuple[str, ...]:
        """Its name is not known, and it is there."""
        now = self.container.sim.now
        text = format_rfc3339(now, digits=6)
        stamp = f"[{weekday(now)} {month_name(int(text[5:7]))} {text[8:10]} {text[11:26]} {text[:4]}]"
        unsure = "Could not reliably determine the server's fully qualified domain name, using "
        unsure += f"{self.container.sandbox.address}. Set the 'ServerName' directive globally to suppress this message"
        configured = "AH00489: Apache/2.4.62 (Unix) configured -- resuming normal operations"
        return (
            f"AH00558: httpd: {unsure}",
            f"AH00558: httpd: {unsure}",
            f"{stamp} [mpm_event:notice] [pid 1:tid 1] {configured}",
            f"{stamp} [core:notice] [pid 1:tid 1] AH00094: Command line: 'httpd -D FOREGROUND'",
        )

    def page(self, call: Call) -> Page:
        """A file or a folder's index.html."""
        file = self.home.rstrip("/") + normalize(path_of(call))
        if self.files.is_folder(file.rstrip("/")):
            file = file.rstrip("/") + "/index.html"
        try:
            return Page(200, self.files.read(file), content_type(file))
        except FileError:
            start = '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n<title>404 Not Found</title>\n'
            text = "</head><body>\n<h1>Not Found</h1>\n<p>The requested URL was not found on this server.</p>\n"
            return Page(404, f"{start}{text}</body></html>\n", "text/html")

    def access_line(self, call: Call, page: Page) -> str:
        """The common log format."""
        return self.clf(call, page)


class HttpEcho(WebProgram):
    """`http-echo -text=T [-listen=:5678] [-status-code=200]`."""

    program = "http-echo"

    def prepare(self) -> tuple[int, ...]:
        """Read the flags, as Go's package `flag` does."""
        values = {"text": self.environment.get("ECHO_TEXT", ""), "listen": ":5678", "status-code": "200"}
        words = list(self.argv[1:])
        while words and words[0].startswith("-") and words[0] not in ("-", "--"):
            name, equals, value = words.pop(0).lstrip("-").partition("=")
            if name not in values:
                raise Ended(f"flag provided but not defined: -{name}\nUsage of /http-echo:", 2)
            if not equals:
                if not words:
                    raise Ended(f"flag needs an argument: -{name}\nUsage of /http-echo:", 2)
                value = words.pop(0)
            values[name] = value
        if not values["text"]:
            raise Ended("Missing -text option!", 127)
        if words:
            raise Ended("Too many arguments!", 127)
        port = port_number(values["listen"])
        self.listen, self.text = values["listen"], values["text"] + "\n"
        self.status = int(values["status-code"]) if values["status-code"].isdecimal() else 200
        if port is None:
            raise Ended(f"[ERR] starting server: listen tcp: address {self.listen}: missing port in address", 1)
        return (port,)

    def started(self) -> tuple[str, ...]:
        """Where it listens."""
        return (f"{{time_nginx}} [INFO] server is listening on {self.listen}",)

    def page(self, call: Call) -> Page:
        """The text."""
        return Page(self.status, self.text, "text/plain")

    def access_line(self, call: Call, page: Page) -> str:
        """Its line of a request."""
        stamp = format_rfc3339(self.container.sim.now)
        when = f"{stamp[:10].replace('-', '/')} {stamp[11:19]}"
        asked = f'"{call.method} {call.path} HTTP/1.1" {page.status} {len(page.body)} "{header(call, "user-agent")}"'
        return f"{when} {call.host} {call.source} {asked} 22.4µs"


class Whoami(WebProgram):
    """`whoami [--port N] [--name S]` of Traefik."""

    program = "whoami"

    def prepare(self) -> tuple[int, ...]:
        """Read the flags."""
        port, name = self.environment.get("WHOAMI_PORT_NUMBER", "80"), self.environment.get("WHOAMI_NAME", "")
        words = list(self.argv[1:])
        while words:
            flag, equals, value = words.pop(0).lstrip("-").partition("=")
            if flag not in ("port", "name", "verbose"):
                raise Ended(f"flag provided but not defined: -{flag}\nUsage of /whoami:", 2)
            value = value if equals or flag == "verbose" or not words else words.pop(0)
            port, name = (value, name) if flag == "port" else (port, value) if flag == "name" else (port, name)
        number = port_number(port)
        if number is None:
            raise Ended(f"listen tcp: address {port}: invalid port", 1)
        self.name = name
        return (number,)

    def started(self) -> tuple[str, ...]:
        """Where it listens."""
        return (f"{{time_nginx}} Starting up on port {next(iter(self._ports), 80)}",)

    def page(self, call: Call) -> Page:
        """Who asks whom."""
        if path_of(call) == "/health":
            return Page(200)
        own = [f"Name: {self.name}"] if self.name else []
        own += [f"Hostname: {self.container.sandbox.pod_name}", "IP: 127.0.0.1", "IP: ::1"]
        own += [f"IP: {self.container.sandbox.address}", f"RemoteAddr: {call.source or '127.0.0.1'}:41234"]
        own += [f"{call.method} {call.path} HTTP/1.1", f"Host: {call.host}"]
        return Page(200, "\n".join([*own, *(f"{name.title()}: {value}" for name, value in call.headers), ""]) + "\n")
