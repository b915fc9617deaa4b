"""What kubectl prints objects with: tables, YAML, JSON, JSONPath, custom columns, names."""
