"""The handlers of the verbs and of the paths that are no resources: what a request does, step by step."""
