"""Which images exist, and what containerd says of those that do not."""

import pytest

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.imagereference import InvalidImageName, parse_image
from simcluster.models.machine.images import ImageRegistry, PullError
from simcluster.models.machine.imagestore import ImageStore, PullResult

PROJECT = "us-central1-docker.pkg.dev/google-samples/microservices-demo"


@pytest.fixture
def registry():
    registry = ImageRegistry(Simulation())
    for name in ("frontend", "cartservice", "adservice"):
        registry.describe(f"{PROJECT}/{name}", ["v0.10.3"], 40_000_000)
    registry.describe("docker.io/library/redis", ["alpine", "7"], 16_000_000)
    return registry


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("redis", "docker.io/library/redis:latest"),
        ("acme/shop:1", "docker.io/acme/shop:1"),
        ("localhost:5000/a:b", "localhost:5000/a:b"),
        ("ghcr.io/a/b/c:1.2-rc1", "ghcr.io/a/b/c:1.2-rc1"),
        ("redis@sha256:" + "a" * 64, "docker.io/library/redis@sha256:" + "a" * 64),
    ],
)
def test_references_are_normalised(text, full):
    assert str(parse_image(text)) == full


@pytest.mark.parametrize(("name", "shown"), [("Hotel/Frontend:1.0", "Frontend"), ("NGINX:1.25", "library/NGINX")])
def test_upper_case_is_refused_in_the_parsers_words(name, shown):
    with pytest.raises(InvalidImageName) as error:
        parse_image(name)
    why = f"invalid reference format: repository name ({shown}) must be lowercase"
    assert str(error.value) == f'couldn\'t parse image name "{name}": {why}'


@pytest.mark.parametrize("text", ["a b", "redis:", "redis:!", "a//b", ""])
def test_malformed_references_are_refused(text):
    with pytest.raises(InvalidImageName):
        parse_image(text)


@pytest.mark.parametrize(
    "image", [f"{PROJECT}/frontend:v0.10.999", f"{PROJECT}/frontend:v0.1O.3", f"{PROJECT}/frontent:v0.10.3"]
)
def test_wrong_tag_or_repository_is_not_found(registry, image):
    with pytest.raises(PullError) as error:
        registry.resolve(parse_image(image))
    assert str(error.value) == (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{image}": '
        f'failed to resolve reference "{image}": {image}: not found'
    )


def test_a_company_s_own_registry_has_what_it_has(registry):
    registry.describe("registry.example.com/payments/web", ["v1.27.0"], 18_000_000)
    assert registry.resolve(parse_image("registry.example.com/payments/web:v1.27.0")).size_bytes == 18_000_000
    for image in ("registry.example.com/payments/wallet:v1.27.0", "registry.example.com/other@sha256:" + "a" * 64):
        with pytest.raises(PullError, match="not found"):
            registry.resolve(parse_image(image))


def test_misspelt_hub_image_is_denied(registry):
    with pytest.raises(PullError, match="pull access denied, repository does not exist or may require authorization"):
        registry.resolve(parse_image("rediss:alpine"))


def test_unknown_registry_host_fails_in_dns(registry):
    image = "registry.invalid-corp.io/team/app:2.0"
    with pytest.raises(PullError) as error:
        registry.resolve(parse_image(image))
    assert str(error.value) == (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": failed to do request: '
        'Head "https://registry.invalid-corp.io/v2/team/app/manifests/2.0": '
        "dial tcp: lookup registry.invalid-corp.io on 127.0.0.53:53: no such host"
    )


@pytest.mark.parametrize(
    "image", ["nginx", "nginx:1.25.3-alpine", "ghcr.io/acme/shop:sha-0a1b2c3", "busybox:stable-musl"]
)
def test_undescribed_public_images_exist_and_are_always_the_same(registry, image):
    first, second = registry.resolve(parse_image(image)), registry.resolve(parse_image(image))
    assert first == second
    assert first.digest.startswith("sha256:")


def test_pulls_are_serial_and_a_second_pull_downloads_nothing(registry):
    sim = registry.sim
    store = ImageStore(sim, "worker-1", registry)
    results: list[PullResult] = []
    store.pull("redis:7", results.append)
    store.pull("redis:7", results.append)
    sim.run_for(60 * SECOND)
    first, second = results
    assert first.pull_ns > 16_000_000 * SECOND // store.bytes_per_s
    assert second.total_ns == first.total_ns + second.pull_ns
    assert second.pull_ns < first.pull_ns
    assert store.find("redis:7") is not None


def test_a_failing_host_heals(registry):
    registry.fail_host("docker.io", "dial tcp 34.1.2.3:443: i/o timeout")
    with pytest.raises(PullError, match="i/o timeout"):
        registry.resolve(parse_image("redis:7"))
    registry.heal_host("docker.io")
    assert registry.resolve(parse_image("redis:7")).size_bytes == 16_000_000


def test_versions_that_nobody_has_published_do_not_exist(registry):
    with pytest.raises(PullError, match=r"nginx:1\.161: not found"):
        registry.resolve(parse_image("nginx:1.161"))
    assert registry.resolve(parse_image("nginx:1.16.1")).digest


def test_hosts_of_a_sandbox_s_own_manifests_serve_what_they_are_asked(registry):
    registry.others_exist = True
    assert registry.resolve(parse_image("registry.corp.example/team/x:feature-login")).digest
    with pytest.raises(PullError, match="no such host"):
        registry.resolve(parse_image("registry.invalid/x:1"))
    with pytest.raises(PullError, match="not found"):
        registry.resolve(parse_image("nginx:lates"))


def test_who_names_pull_secrets_needs_one_of_a_private_registry(registry: ImageRegistry) -> None:
    registry.others_exist = True
    image = parse_image("registry.corp.example/team/x:1.2")
    for keys in ({}, {"ghcr.io": "ci:secret"}):
        with pytest.raises(PullError, match="failed to authorize"):
            registry.resolve(image, keys)
    assert registry.resolve(image, {"registry.corp.example": "ci:secret"}).digest
    assert registry.resolve(parse_image("redis:7"), {}).digest


def test_a_list_of_images_is_all_that_hosts_have_which_are_not_public(registry: ImageRegistry) -> None:
    registry.others_exist = True
    registry.only({"registry.corp.example/x:1": None, "registry.corp.example/x:2": None, "docker.corp/y": "ci:pw"})
    for name in ("registry.corp.example/x:1", "registry.corp.example/x:2", "redis:7", "quay.io/acme/z:1"):
        assert registry.resolve(parse_image(name)).digest
    for name in ("registry.corp.example/x:3", "registry.corp.example/z:1"):
        with pytest.raises(PullError, match="not found"):
            registry.resolve(parse_image(name))
    with pytest.raises(PullError, match="no such host"):
        registry.resolve(parse_image("other.corp.example/x:1"))
    with pytest.raises(PullError, match="failed to authorize"):
        registry.resolve(parse_image("docker.corp/y"))
    assert registry.resolve(parse_image("docker.corp/y"), {"docker.corp": "ci:pw"}).digest


@pytest.mark.parametrize(
    ("images", "complaint"),
    [
        ({"X:1": None}, "repository name .* must be lowercase"),
        ({"r.corp/x:1": None, "r.corp/x:2": "a:b"}, "r.corp/x is pulled with one password or none"),
    ],
)
def test_lists_of_images_that_make_no_sense_are_refused(
    registry: ImageRegistry, images: dict[str, str | None], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        registry.only(images)


def test_a_guarded_repository_is_given_to_those_who_know_its_password(registry: ImageRegistry) -> None:
    image = parse_image("ghcr.io/acme/ledger:v2")
    registry.guarded[image.repository] = "ci:secret"
    for keys in (None, {"docker.io": "ci:secret"}, {"ghcr.io": "ci:wrong"}):
        with pytest.raises(PullError, match=r"failed to authorize: .*ghcr.io/token\?scope=.*: 401 Unauthorized"):
            registry.resolve(image, keys)
    assert registry.resolve(image, {"ghcr.io": "ci:secret"}).digest
    assert registry.resolve(parse_image("ghcr.io/acme/other:v2")).digest
