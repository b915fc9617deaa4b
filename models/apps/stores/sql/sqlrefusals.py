"""What servers say of a statement that they refuse (`tables.Refused`): by its reason, with its values.

Source: PostgreSQL 16, src/backend; MySQL 8.0, Server Error Message Reference.
"""

from __future__ import annotations

#: The text after ERROR.
POSTGRES = {
    "no table": 'relation "{0}" does not exist',
    "no table to drop": 'table "{0}" does not exist',
    "exists": 'relation "{0}" already exists',
    "no database": 'database "{0}" does not exist',
    "no column": 'column "{0}" does not exist',
    "no field": 'column "{0}" of relation "{1}" does not exist',
    "no source": 'missing FROM-clause entry for table "{0}"',
    "no function": "function {0} does not exist\nHINT:  No function matches the given name and argument types. "
    "You might need to add explicit type casts.",
    "null": 'null value in column "{0}" violates not-null constraint',
    "wrong value": 'invalid input syntax for type {0}: "{1}"',
    "too long": "value too long for type character varying({1})",
    "no unique index": 'could not create unique index "{0}"\nDETAIL:  Key ({1})=({2}) is duplicated.',
    "orphan": 'insert or update on table "{0}" violates foreign key constraint "{1}"\n'
    'DETAIL:  Key ({2})=({3}) is not present in table "{4}".',
    "needed": 'update or delete on table "{0}" violates foreign key constraint "{1}" on table "{2}"\n'
    'DETAIL:  Key ({3})=({4}) is still referenced from table "{2}".',
    "no table to refer to": 'relation "{0}" does not exist',
    "no key to refer to": 'there is no unique constraint matching given keys for referenced table "{0}"',
    "table in use": "cannot drop table {0} because other objects depend on it\n"
    "DETAIL:  constraint {2} on table {1} depends on table {0}\n"
    "HINT:  Use DROP ... CASCADE to drop the dependent objects too.",
    "table not to empty": "cannot truncate a table referenced in a foreign key constraint\n"
    'DETAIL:  Table "{1}" references "{0}".\n'
    'HINT:  Truncate table "{1}" at the same time, or use TRUNCATE ... CASCADE.',
    "duplicate": 'duplicate key value violates unique constraint "{0}"\nDETAIL:  Key ({1})=({2}) already exists.',
    "too many values": "INSERT has more expressions than target columns",
    "full": "out of memory",
    "division": "division by zero",
    "types": "operator does not exist for these types",
    "range": "bigint out of range",
    "depth": "stack depth limit exceeded",
    "position": "ORDER BY position {0} is not in select list",
}
#: Number, SQLSTATE and text; `{space}` is the database, `{clause}` the part of the statement.
MYSQL = {
    "no table": (1146, "42S02", "Table '{space}.{0}' doesn't exist"),
    "no table to drop": (1051, "42S02", "Unknown table '{space}.{0}'"),
    "exists": (1050, "42S01", "Table '{0}' already exists"),
    "no column": (1054, "42S22", "Unknown column '{0}' in '{clause}'"),
    "no field": (1054, "42S22", "Unknown column '{0}' in 'field list'"),
    "no source": (1054, "42S22", "Unknown column '{0}.{1}' in '{clause}'"),
    "no function": (1305, "42000", "FUNCTION {space}.{0} does not exist"),
    "null": (1048, "23000", "Column '{0}' cannot be null"),
    "wrong value": (1366, "HY000", "Incorrect {0} value: '{1}' for column '{2}' at row 1"),
    "too long": (1406, "22001", "Data too long for column '{2}' at row 1"),
    "duplicate": (1062, "23000", "Duplicate entry '{2}' for key '{3}.{0}'"),
    "no unique index": (1062, "23000", "Duplicate entry '{2}' for key '{3}.{0}'"),
    "orphan": (
        1452,
        "23000",
        "Cannot add or update a child row: a foreign key constraint fails (`{space}`.`{0}`, "
        "CONSTRAINT `{1}` FOREIGN KEY (`{2}`) REFERENCES `{4}` (`{5}`))",
    ),
    "needed": (
        1451,
        "23000",
        "Cannot delete or update a parent row: a foreign key constraint fails (`{space}`.`{2}`, "
        "CONSTRAINT `{1}` FOREIGN KEY (`{5}`) REFERENCES `{0}` (`{3}`))",
    ),
    "no table to refer to": (1824, "HY000", "Failed to open the referenced table '{0}'"),
    "no key to refer to": (
        1822,
        "HY000",
        "Failed to add the foreign key constraint. Missing index for constraint '{1}' in the referenced table '{0}'",
    ),
    "table in use": (
        3730,
        "HY000",
        "Cannot drop table '{0}' referenced by a foreign key constraint '{2}' on table '{1}'.",
    ),
    "table not to empty": (
        1701,
        "42000",
        "Cannot truncate a table referenced in a foreign key constraint (`{space}`.`{1}`, CONSTRAINT `{2}`)",
    ),
    "too many values": (1136, "21S01", "Column count doesn't match value count at row 1"),
    "full": (1114, "HY000", "The table is full"),
    "division": (1365, "22012", "Division by 0"),
    "types": (1292, "22007", "Truncated incorrect value"),
    "range": (1690, "22003", "BIGINT value is out of range"),
    "depth": (1436, "HY000", "Thread stack overrun"),
    "position": (1054, "42S22", "Unknown column '{0}' in 'order clause'"),
}
