"""What MySQL's and MariaDB's SHOW GRANTS tells: whether a user may do more than look.

Sources: https://mariadb.com/kb/en/show-grants/ and https://dev.mysql.com/doc/refman/8.4/en/show-grants.html
"""

import re
from collections.abc import Sequence

UNSEEN = "GRANT UNSEEN ON *.* TO role"
"""Stands for what a role may do that can't be looked at: it counts as one that may write."""

_HARMLESS = frozenset(
    {
        *("USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS", "REFERENCES"),
        *("REPLICATION CLIENT", "BINLOG MONITOR", "SLAVE MONITOR", "REPLICA MONITOR"),
    }
)
_GRANT = re.compile(r"GRANT (?P<privileges>.+?) ON ", re.IGNORECASE)
_GRANTED_ROLE = re.compile(r"GRANT (?P<role>[`'\w@%.-]+) TO ", re.IGNORECASE)
_COLUMN_LIST = re.compile(r"\([^)]*\)")


def roles_in(grants: Sequence[str]) -> list[str]:
    """Return the roles that are granted, quoted as the server quotes them."""
    return [found["role"] for grant in grants if (found := _GRANTED_ROLE.match(grant))]


def may_write(grants: Sequence[str]) -> bool:
    """Whether any grant allows more than to look. A privilege that isn't known to be harmless counts as more."""
    for grant in grants:
        found = _GRANT.match(grant)
        if found is None:
            continue
        privileges = _COLUMN_LIST.sub("", found["privileges"]).upper().split(",")
        if "WITH GRANT OPTION" in grant.upper() or any(one.strip() not in _HARMLESS for one in privileges):
            return True
    return False
