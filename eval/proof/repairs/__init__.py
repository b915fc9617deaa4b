"""Right repairs that follow from the facts that an incident changed, however they are made."""
