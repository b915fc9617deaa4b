"""Files of nodes, and files that stand in ConfigMaps and Secrets."""
