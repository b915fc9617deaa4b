"""The programs of the shop's pages, its proxy and those that need their store before they begin."""

from __future__ import annotations

import json
from dataclasses import replace

from simcluster.apps.astronomy_shop.stores import address_of, met
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.apps.flags.client import FlaggedProgram, changed, failing, operation_of
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import ServiceSpec

#: Name, whole dollars, cents and categories of the ten products, as `init.sql` of the demo has them.
PRODUCTS = {
    "OLJCESPC7Z": ("National Park Foundation Explorascope", 101, 96, ("telescopes",)),
    "66VCHSJNUP": ("Starsense Explorer Refractor Telescope", 349, 95, ("telescopes",)),
    "1YMWWN1N4O": ("Eclipsmart Travel Refractor Telescope", 129, 95, ("telescopes", "travel")),
    "L9ECAV7KIM": ("Lens Cleaning Kit", 21, 95, ("accessories",)),
    "2ZYFJ3GM2N": ("Roof Binoculars", 209, 95, ("binoculars",)),
    "0PUK6V6EV0": ("Solar System Color Imager", 175, 0, ("accessories", "telescopes")),
    "LS4PSXUNUM": ("Red Flashlight", 57, 8, ("accessories", "flashlights")),
    "9SIQT8TOJO": ("Optical Tube Assembly", 3599, 0, ("accessories", "telescopes", "assembly")),
    "6E92ZMYYFZ": ("Solar Filter", 69, 95, ("accessories", "telescopes")),
    "HQTGWGPNH4": ("The Comet Book", 0, 99, ("books",)),
}
#: StackExchange.Redis: connectTimeout, and the cart's ConnectRetry.
CONNECT_NS, CONNECT_TRIES = 5 * SECOND, 30
_HOME = (
    '<!DOCTYPE html><html lang="en"><head><meta charSet="utf-8"/><title>Otel Demo - Home</title></head>'
    '<body><div id="__next"></div></body></html>\n'
)
_PREFIXES = {
    "/loadgen/": ("LOCUST_WEB", "/"),
    "/jaeger/": ("JAEGER", "/jaeger/"),
    "/grafana/": ("GRAFANA", "/grafana/"),
    "/flagservice/": ("FLAGD", "/"),
    "/feature": ("FLAGD_UI", "/feature"),
}
_PORTS = {"JAEGER": "JAEGER_UI_PORT"}


class FrontendProgram(ServerProgram):
    """Next.js: pages and the shop's API."""

    def answer(self, call: Call) -> Answer:
        """What a single request is given, with the text of the pages that people look at."""
        base = super().answer(call)
        if base.outcome != "ok" or base.status != 200 or call.kind != "http" or base.body:
            return base
        path = call.path.partition("?")[0].rstrip("/")
        if not path:
            return base._replace(body=_HOME, content_type="text/html; charset=utf-8")
        if path == "/api/products":
            return base._replace(
                body=json.dumps([_product(name) for name in PRODUCTS]), content_type="application/json"
            )
        if path.startswith("/api/products/"):
            name = path.rpartition("/")[2]
            if name not in PRODUCTS:
                return base._replace(status=500, body="Internal Server Error")
            return base._replace(body=json.dumps(_product(name)), content_type="application/json")
        return base._replace(body="{}", content_type="application/json")


def _product(name: str) -> dict[str, object]:
    title, units, cents, categories = PRODUCTS[name]
    price = {"currencyCode": "USD", "units": units, "nanos": cents * 10_000_000}
    return {"id": name, "name": title, "priceUsd": price, "categories": list(categories)}


class EnvoyProgram(FlaggedProgram):
    """Envoy before the pages; clusters of STRICT_DNS with the names and ports of its variables.

    A browser that loads a picture with the flag `imageSlowLoad` asks for the delay of the fault filter in a header
    (`x-envoy-fault-delay-request`). Left out: its access log, which goes over OTLP only.
    """

    def start(self) -> None:
        """Put the addresses together, as its template does."""
        for cluster, name in (("frontend", "FRONTEND"), ("image-provider", "IMAGE_PROVIDER")):
            self.environment[cluster] = self._place(name)
        super().start()

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """Pictures that browsers want late."""
        delay = int(self.flags.number("imageSlowLoad")) * MILLISECOND
        if not delay:
            return spec
        return changed(spec, "image", latency_ns=operation_of(spec, "image").latency_ns + delay, latency_cv=0.01)

    def answer(self, call: Call) -> Answer:
        """Pages of other clusters by their prefixes; all else is the frontend's."""
        if call.kind == "http" and call.port == 10000:
            base = super().answer(call._replace(path="/"))
            return base._replace(status=200, body="LIVE\n" if call.path == "/ready" else "")
        rule = next((rule for prefix, rule in _PREFIXES.items() if call.path.startswith(prefix)), None)
        if call.kind == "http" and rule is not None and self.server is not None:
            prefix = next(each for each in _PREFIXES if call.path.startswith(each))
            return self._passed(call, self._place(rule[0]), rule[1] + call.path[len(prefix) :])
        base = super().answer(call)
        if base.outcome != "ok" or call.kind != "http" or base.body:
            return base
        if base.status == 503:
            return base._replace(body="no healthy upstream", content_type="text/plain")
        there = self._passed(call, self.environment["frontend"], call.path)
        return base._replace(status=there.status, body=there.body, content_type=there.content_type)

    def _passed(self, call: Call, place: str, path: str) -> Answer:
        host, port = parse_address(place)
        found = reach(self.traffic.network, self.container, host, port)
        if found.outcome != "ok" or found.container is None or found.container is self.container:
            return Answer("ok", 503, "no healthy upstream", 0, "text/plain")
        inner_port = next((p for p in (port, 8080, 8013) if found.container.program.listens_on(p)), port)
        return found.container.program.answer(call._replace(port=inner_port, path=path))

    def _place(self, name: str) -> str:
        port = self.environment.get(_PORTS.get(name, f"{name}_PORT"), "")
        return f"{self.environment.get(f'{name}_HOST', '')}:{port}"


class ProductCatalogProgram(FlaggedProgram):
    """The catalogue: it asks its database for every product, and ends if that cannot be reached when it starts."""

    def start(self) -> None:
        """Read where the database is."""
        self.environment["database"] = address_of(self.environment.get("DB_CONNECTION_STRING", ""))
        super().start()

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """One product of ten fails."""
        if not self.flags.boolean("productCatalogFailure"):
            return spec
        answer = "rpc error: code = Internal desc = Error: Product Catalog Fail Feature Flag Enabled"
        return failing(spec, "GetProduct", 1.0 / len(PRODUCTS), answer)

    def _ready(self) -> None:
        found, refusal = met(self, "database", "select-product")
        if found.outcome != "ok" or refusal:  # said over OTLP only
            self._timer = None
            self.container.exit(1)
            return
        super()._ready()


class ProductReviewsProgram(ServerProgram):
    """Reviews of products, and questions to a language model."""

    def start(self) -> None:
        """Read where the database and the model are."""
        url = self.environment.get("LLM_BASE_URL", "")
        places = {"database": address_of(self.environment.get("DB_CONNECTION_STRING", "")), "LLM": url}
        self.environment = {**self.environment, **places}
        super().start()


class LlmProgram(FlaggedProgram):
    """The mock of a language model. A wrong summary (`llmInaccurateResponse`) is a text; nothing else shows it."""

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """Half of the questions are refused."""
        if not self.flags.boolean("llmRateLimitError"):
            return spec
        answer = "429 Too Many Requests"
        return failing(spec, "completions", 0.5, answer)


class CartProgram(FlaggedProgram):
    """The cart in .NET: it connects to Valkey when it starts, or ends."""

    _tries = 0

    def start(self) -> None:
        """As every program."""
        self.environment["store of cartFailure"] = "badhost:1234"
        super().start()

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """Carts are emptied in a store that is not there: its name does not resolve, which takes a second to fail."""
        if not self.flags.boolean("cartFailure"):
            return spec
        steps = operation_of(spec, "EmptyCart").steps
        wrong = tuple(
            tuple(replace(call, env="store of cartFailure", timeout_ns=SECOND) for call in step) for step in steps
        )
        return changed(spec, "EmptyCart", steps=wrong)

    def answer(self, call: Call) -> Answer:
        """The health service has a switch of its own."""
        base = super().answer(call)
        asked = call.kind == "grpc" and call.path in ("", "/", "oteldemo.CartService")
        if asked and base.outcome == "ok" and self.flags.boolean("failedReadinessProbe"):
            return base._replace(status=503, body="NOT_SERVING")
        return base

    def _ready(self) -> None:
        found, refusal = met(self, "VALKEY_ADDR", "HGET")
        if found.outcome == "ok" and not refusal:
            super()._ready()
            return
        self._tries += 1
        if self._tries < CONNECT_TRIES:
            self._timer = self.container.sim.after(CONNECT_NS, self._ready)
            return
        self._timer = None
        self.container.write("fail: cart.cartstore.ValkeyCartStore[0]\n      Wasn't able to connect to redis")
        for line in (
            "Unhandled exception. System.ApplicationException: Wasn't able to connect to redis",
            "   at cart.cartstore.ValkeyCartStore.EnsureRedisConnected() in /usr/src/app/src/cartstore/"
            "ValkeyCartStore.cs:line 115",
        ):
            self.container.write(line, "stderr")
        self.container.exit(139)
