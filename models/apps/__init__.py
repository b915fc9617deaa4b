"""Applications: one folder each, manifests and behaviour; and images nobody described."""
