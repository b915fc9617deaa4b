"""What the scan for the answer's own words finds, and what it takes for a word of Prometheus."""

from __future__ import annotations

from simcluster import tasks
from simcluster.eval.proof.leaks import leaks
from tests.kiosk import started

#: Its incident holds the fault `pod_label`.
TASK = tasks.load("service_wrong_pod_selection_hotel_reservation")


#: What a ConfigMap says, and the word that is found in it.
TEXTS = {
    "source_labels: [__meta_kubernetes_pod_label_app, __meta_kubernetes_node_labelpresent_zone]": "",
    "regex: __meta_kubernetes_pod_label_(.+)": "",
    "source_labels: [__meta_kubernetes_pod_label_pod_label]": "pod_label",
    "source_labels: [__meta_kubernetes_service_annotation_injected_by]": "injected",
    "pod_label": "pod_label",
    "step-pod-label-1": "pod-label",
}


def test_names_of_service_discovery_are_no_leak_and_what_they_name_is() -> None:
    world = started().world
    for number, text in enumerate(TEXTS):
        created = world.kubectl().run(f"create configmap relabelling-{number} --from-literal='prometheus.yml={text}'")
        assert created.exit_code == 0, created
    found = leaks(world, TASK)
    for number, word in enumerate(TEXTS.values()):
        here = [leak for leak in found if f"configmaps relabelling-{number}" in leak]
        assert here == ([f"{word!r} stands in configmaps relabelling-{number}"] if word else [])
