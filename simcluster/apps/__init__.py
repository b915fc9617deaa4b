"""Applications, one folder each: manifests, behaviour, programs, operator, custom resources, cases for the tests.

A folder is a package with a `behaviour.yaml`. What can be deployed has a `manifests.yaml`, and what must be in the
cluster before stands in `prerequisites.yaml`. Programs and operators are declared in its module `app`.
"""
