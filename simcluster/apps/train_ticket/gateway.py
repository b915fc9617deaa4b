"""The gateway (Spring Cloud Gateway) and the dashboard (nginx) before it.

The gateway's routes are those of its jar, whose variables may lead elsewhere, or of `/config/application.yml` if that
is mounted: a request goes to the service of the first route whose path fits, and one without instances is answered 503.
nginx looks the gateway's name up once, when it starts, and exits without it. Sources: the application's
`application.yml` and `nginx.conf`, Spring Boot's search for configurations.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import yaml

from simcluster.apps.train_ticket.spring import SpringProgram
from simcluster.apps.train_ticket.wording import ProxyWording
from simcluster.models.apps.logs import Wording
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.traffic.cluster.operations import OperationSpec, ServiceSpec

ROUTES = "/config/application.yml"
UPSTREAM, PORT = "ts-gateway-service", 18888
#: `lb://${USER_SERVICE_HOST:ts-user-service}`, `http://${NEWS_SERVICE_HOST:ts-news-service}:12862`.
_URI = re.compile(r"\w+://(?:\$\{(\w+):([\w-]+)\}|([\w-]+))")
NOT_FOUND, UNAVAILABLE = 404, 503


class GatewayProgram(SpringProgram):
    """The main process of the gateway.

    Attributes:
        routes: beginnings of paths and the services to which they lead, of a mounted file; empty: those of the jar.
    """

    routes: tuple[tuple[str, str], ...] = ()

    def start(self) -> None:
        """Read the routes; a file that is no YAML ends it."""
        try:
            self.routes = routes_of(FileTree(self.container).read(ROUTES), self.environment)
        except FileError:
            self.routes = ()
        except (yaml.YAMLError, AttributeError, TypeError, KeyError) as problem:
            self._say("ERROR", "o.s.boot.SpringApplication", f"Application run failed\n\n{problem}")
            self.container.exit(1)
            return
        super().start()

    def otherwise(self, spec: ServiceSpec) -> ServiceSpec:
        """Requests go where the routes say; what has no instance is not available."""
        return replace(spec, operations=tuple(self._routed(operation) for operation in spec.operations))

    def wording(self) -> Wording:
        """It tells of what it did not reach itself."""
        return ProxyWording(self.container.spec.pod_name, PORT)

    def _routed(self, operation: OperationSpec) -> OperationSpec:
        own = operation.steps[0][0].env.partition("#")[0]
        service = self.environment.get(_variable(own), "") or own
        if self.routes:
            service = next((to for path, to in self.routes if operation.path.startswith(path)), "")
        known = self.registration.instances if self.registration is not None else {}
        status = UNAVAILABLE if service in known and not known[service] else 500
        if service == own:
            steps = tuple(tuple(replace(call, status=status) for call in step) for step in operation.steps)
        else:  # whoever is there knows no such path
            call = replace(operation.steps[0][0], env=service, count=1.0, status=NOT_FOUND)
            steps = ((call,),)
        return replace(operation, steps=steps)


def _variable(service: str) -> str:
    """The variable by which the jar's route to a service can be changed: `ROUTE_SERVICE_HOST` of `ts-route-service`."""
    return service.removeprefix("ts-").upper().replace("-", "_") + "_HOST"


def routes_of(text: str, environment: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The routes of a configuration: the beginning of each path, and its service.

    >>> routes_of("spring: {cloud: {gateway: {routes: [{uri: 'lb://${A:ts-a}', predicates: [Path=/api/a/**]}]}}}", {})
    (('/api/a/', 'ts-a'),)

    Raises:
        yaml.YAMLError, AttributeError, TypeError, KeyError: it is none.
    """
    document: Any = yaml.safe_load(text)
    found: list[tuple[str, str]] = []
    for route in document["spring"]["cloud"]["gateway"]["routes"]:
        match = _URI.match(str(route["uri"]))
        service = (environment.get(match[1] or "") or match[2] or match[3]) if match is not None else ""
        for predicate in route["predicates"]:
            name, _, path = str(predicate).partition("=")
            if name == "Path":
                found.append((path.removesuffix("**"), service))
    return tuple(found)


class DashboardProgram(ServerProgram):
    """nginx with the pages and the way to the gateway."""

    def start(self) -> None:
        """Look the gateway up; without it nginx says so and exits."""
        found = self._traffic.network.resolve_for(self.container.sandbox, UPSTREAM)
        if not found.address:
            what = f'host not found in upstream "{UPSTREAM}" in /usr/local/openresty/nginx/conf/nginx.conf:40'
            self.container.write(f"nginx: [emerg] {what}", "stderr")
            self.container.exit(1)
            return
        self.environment = {**self.environment, "GATEWAY": f"{found.address}:{PORT}"}
        super().start()

    def wording(self) -> Wording:
        """Its error log."""
        return ProxyWording(self.container.spec.pod_name, 8080)
