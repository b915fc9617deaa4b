"""A described admission webhook: it changes, refuses and converts objects by the rules of its environment."""
