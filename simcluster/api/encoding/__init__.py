"""Values and bytes: bodies of requests, forms of answers, the order of keys on the wire."""
