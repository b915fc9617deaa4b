"""What the types of Kubernetes 1.32 look like, and what the server makes of a body.

`load()` gives the facts; `decode` reads a body as the API server's Go decoder does: types,
unknown fields, canonical quantities, no nulls and no empty optional fields.
"""

from simcluster.api.schema.decoding import Decoded, KindOf, check_types, decode, decode_type, unknown_fields
from simcluster.api.schema.types import Field, Schema, TypeSchema, load, type_of
from simcluster.api.schema.yamltext import YamlSyntaxError, decode_yaml

__all__ = [
    "Decoded",
    "Field",
    "KindOf",
    "Schema",
    "TypeSchema",
    "YamlSyntaxError",
    "check_types",
    "decode",
    "decode_type",
    "decode_yaml",
    "load",
    "type_of",
    "unknown_fields",
]
