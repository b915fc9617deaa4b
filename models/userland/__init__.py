"""One shell language and one table of tools, with faces by distribution: for nodes, containers and the desk."""
