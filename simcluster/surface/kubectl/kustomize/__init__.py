"""`kubectl kustomize DIR` and `-k DIR`: manifests built from kustomization files.

Known: resources (files and folders), components, namespace, namePrefix, nameSuffix, labels,
commonLabels, commonAnnotations, images, replicas, patches (strategic and JSON 6902, inline or
from files) and their two older spellings, configMapGenerator, secretGenerator,
generatorOptions, sortOptions. Left out, and refused by name: Helm charts, plug-ins, vars,
replacements, own transformer configurations, URLs.
"""

from __future__ import annotations

from simcluster.surface.kubectl.kustomize.build import build
from simcluster.surface.kubectl.kustomize.ordering import legacy_order

__all__ = ["build", "legacy_order"]
