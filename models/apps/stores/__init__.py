"""Data stores with a storage model: a document store, relational stores, and caches."""
