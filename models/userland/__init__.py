"""One shell language and one table of tools, with faces by distribution: what runs on nodes, in containers, at the desk."""
