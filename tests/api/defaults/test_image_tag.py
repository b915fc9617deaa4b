import pytest

from simcluster.api.defaults.pods import image_tag


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:latest", "latest"),
        ("nginx:1.27", "1.27"),
        ("localhost:5000/team/app", "latest"),
        ("localhost:5000/team/app:2.0", "2.0"),
        ("app@sha256:" + "a" * 64, ""),
        ("", ""),
    ],
)
def test_image_tag(image, tag):
    assert image_tag(image) == tag
