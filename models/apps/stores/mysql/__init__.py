"""MySQL and MariaDB: the server and its client."""
