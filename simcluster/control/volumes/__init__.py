"""What several controllers need to know of volumes: which one suits a claim, who provides and attaches it."""
