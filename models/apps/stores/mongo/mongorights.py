"""Rights in a document store: which commands a role allows, and on which databases."""

from __future__ import annotations

from simcluster.models.apps.stores.accounts import Account

_READ = ("find", "count", "aggregate", "distinct", "getMore", "listCollections", "listIndexes", "collStats", "dbStats")
_WRITE = ("insert", "update", "delete", "findAndModify", "createIndexes", "create", "drop")
_USERS = ("createUser", "updateUser", "dropUser", "grantRolesToUser", "revokeRolesFromUser", "usersInfo")
_ADMIN = ("serverStatus", "listDatabases", "currentOp", "getParameter", "setParameter", "shutdown", "validate", "fsync")
#: Commands of each role; of the `AnyDatabase` roles on every database.
ROLES = {
    "read": _READ,
    "readWrite": (*_READ, *_WRITE),
    "dbAdmin": (*_READ[4:], "createIndexes", "create", "drop", "validate", "collMod"),
    "userAdmin": _USERS,
    "dbOwner": (*_READ, *_WRITE, *_USERS, "validate", "dropDatabase"),
    "clusterMonitor": ("serverStatus", "listDatabases", "currentOp", "getParameter"),
    "clusterAdmin": _ADMIN,
    "backup": ("listDatabases", *_READ),
}
_ANY = {"readAnyDatabase": "read", "readWriteAnyDatabase": "readWrite"}
_ANY |= {"dbAdminAnyDatabase": "dbAdmin", "userAdminAnyDatabase": "userAdmin"}
#: Methods of collections that ask with another command than their name.
COMMAND_OF = {
    **{"find": "find", "findOne": "find", "count": "count", "countDocuments": "aggregate"},
    **{"estimatedDocumentCount": "count", "insert": "insert", "insertOne": "insert", "insertMany": "insert"},
    **{"update": "update", "updateOne": "update", "updateMany": "update", "deleteOne": "delete"},
    **{"deleteMany": "delete", "remove": "delete", "drop": "drop", "stats": "collStats", "validate": "validate"},
    **{"createIndex": "createIndexes", "getIndexes": "listIndexes", "aggregate": "aggregate"},
}
#: Commands that need no rights.
FREE = ("ping", "hello", "isMaster", "buildInfo", "connectionStatus", "logout", "authenticate", "saslStart")


def allows(account: Account, command: str, database: str) -> bool:
    """Whether a user may run a command on a database."""
    if command in FREE:
        return True
    for role, where in account.roles:
        if role in ("root", "__system"):
            return True
        if where == database and command in ROLES.get(role, ()):
            return True
        if where == "admin" and command in ROLES.get(_ANY.get(role, ""), ()):
            return True
        if where == "admin" and role in ("clusterAdmin", "clusterMonitor", "backup") and command in ROLES[role]:
            return True
    return False


def is_role(role: str) -> bool:
    """Whether there is a built-in role of that name."""
    return role in ROLES or role in _ANY or role in ("root", "restore", "hostManager", "clusterManager")
