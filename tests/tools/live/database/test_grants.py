"""Which of MySQL's and MariaDB's grants let a user write."""

import pytest

from tools.live.database.grants import UNSEEN, may_write, roles_in

READING = [
    "GRANT USAGE ON *.* TO `reader`@`%` IDENTIFIED BY PASSWORD '*0'",
    "GRANT SELECT ON `shop`.`orders` TO `reader`@`%`",
    "GRANT SELECT (id, note), SHOW VIEW ON `shop`.`orders` TO `reader`@`%`",
    "GRANT PROCESS, REPLICATION CLIENT ON *.* TO `reader`@`%`",
    "GRANT PROCESS, BINLOG MONITOR ON *.* TO `reader`@`%`",
]


def test_who_may_only_look_may_not_write() -> None:
    assert not may_write(READING)


@pytest.mark.parametrize(
    "grant",
    [
        "GRANT ALL PRIVILEGES ON `shop`.* TO `x`@`%`",
        "GRANT SELECT, INSERT ON `shop`.* TO `x`@`%`",
        "GRANT SELECT, UPDATE (note) ON `shop`.`orders` TO `x`@`%`",
        "GRANT SELECT ON `shop`.* TO `x`@`%` WITH GRANT OPTION",
        "GRANT FILE ON *.* TO `x`@`%`",
        "GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `x`@`%`",
        "GRANT BACKUP_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `x`@`%`",
        "GRANT CREATE TEMPORARY TABLES ON `shop`.* TO `x`@`%`",
        "GRANT LOCK TABLES ON `shop`.* TO `x`@`%`",
        "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION",
        UNSEEN,
    ],
)
def test_whatever_allows_more_counts(grant: str) -> None:
    assert may_write([*READING, grant])


def test_granted_roles_are_found_in_both_servers_words() -> None:
    grants = [
        *READING,
        "GRANT `editors`@`%` TO `x`@`%`",
        "GRANT `ops` TO `x`@`%`",
        "SET DEFAULT ROLE `ops` FOR `x`@`%`",
    ]
    assert roles_in(grants) == ["`editors`@`%`", "`ops`"]
