from __future__ import annotations

import json

from simcluster.control.history import data_hash, revision_data, template_of
from simcluster.testing.recordings import recordings


def test_a_revision_gives_its_template_back() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    data = revision_data(template)
    assert list(data["spec"]["template"]) == ["$patch", "metadata", "spec"]
    assert template_of({"data": data}) == template


def test_the_hash_is_that_of_a_real_controller_manager() -> None:
    path = recordings() / "kubernetes-http/raw-1.32/075_list_controllerrevisions_apps.body"
    recorded = [item for item in json.loads(path.read_text())["items"] if item["metadata"]["name"].startswith("mongo")]
    (revision,) = recorded
    assert f"mongodb-{data_hash(revision['data'], 0)}" == revision["metadata"]["name"]
