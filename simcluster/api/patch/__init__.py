"""The patch types of the Kubernetes API, as pure functions of JSON values.

None of them changes its arguments; unchanged subtrees are shared with the original.
"""
