"""What files of SQL may do on an external MariaDB or MySQL."""

from __future__ import annotations

import pytest

from dbdyno.systems.mysql.confined import OneSchema
from dbdyno.systems.sql_files import Rejected

DUMP = b"""/*M!999999\\- enable the sandbox mode */
-- MySQL dump 10.13; DROP DATABASE shop;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40103 SET TIME_ZONE='+00:00' */;
DROP TABLE IF EXISTS `order-items`;
CREATE TABLE `order-items` (
  `id` int NOT NULL AUTO_INCREMENT,
  `price` decimal(9,2) DEFAULT 1.50,  # a remark; DROP TABLE shop.a;
  PRIMARY KEY (`id`)
) ENGINE=InnoDB COMMENT='it''s; DROP TABLE shop.a';
LOCK TABLES `order-items` WRITE;
/*!40000 ALTER TABLE `order-items` DISABLE KEYS */;
INSERT INTO `order-items` VALUES (1,2.5),(2,-3.5),(3,'a\\'; DROP DATABASE shop; --'),
(4,'two
lines; USE shop;'),(5,/* shop.a */ 1),(6,'x'),(7,'x'),(8,'x'),(9,--1),(10,'a*b/c#d');
UNLOCK TABLES;
CREATE UNIQUE INDEX i ON `order-items` (price);
UPDATE `order-items` SET price = `order-items`.price * 2;
"""


class Kept:
    """An importer that keeps what it is given."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.ended = ""

    def feed(self, line: bytes) -> None:
        self.lines.append(line)

    def finish(self) -> None:
        self.ended = "finished"

    def abort(self) -> None:
        self.ended = "aborted"

    def stop(self) -> None:
        self.ended = "stopped"


def fed(text: bytes) -> Kept:
    kept = Kept()
    importer = OneSchema(kept)
    for line in text.splitlines(keepends=True):
        importer.feed(line)
    importer.finish()
    return kept


def test_a_dump_of_tables_passes_as_it_is() -> None:
    kept = fed(DUMP)
    assert b"".join(kept.lines) == DUMP and kept.ended == "finished"


@pytest.mark.parametrize(
    "text",
    [
        b"INSERT INTO t VALUES (1); DROP DATABASE shop;",
        b"DROP TABLE\n  shop.users;",
        b"DROP TABLE a, `shop` . `users`;",
        b"/* a remark */ DROP TABLE shop.users",
        b"/*!50001 DROP TABLE shop.users */;",
        b"INSERT INTO\nshop.t VALUES (1);",
        b"insert into shop.5tables values (1);",
        b"INSERT INTO t VALUES " + b"(1, 'x')," * 50 + b"(2); DELETE FROM shop.t;",
        b"INSERT INTO t VALUES ('it''s'); USE shop;",
        b"UPDATE t JOIN shop.u ON t.a = u.a SET u.b = 1;",
        b"DELETE FROM shop.t WHERE id = 1;",
        b"CREATE TABLE shop.t (id int);",
        b"CREATE VIEW v AS SELECT * FROM shop.t;",
        b"CREATE DEFINER=`root`@`localhost` TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = 1;",
        b"CREATE DATABASE shop;",
        b"SET GLOBAL max_connections = 1;",
        b"SET @@GLOBAL.GTID_PURGED = 'x';",
        b"SET @@SESSION.SQL_LOG_BIN = 0;",
        b"SET sql_mode = 'ANSI_QUOTES';",
        b"GRANT ALL ON *.* TO app;",
        b"CALL shop.clean();",
        b"DELIMITER ;;",
    ],
)
def test_what_reaches_out_is_refused(text: bytes) -> None:
    with pytest.raises(Rejected, match=r"not taken|names a schema|changes the server"):
        fed(text)


def test_the_line_is_named_and_not_sent() -> None:
    kept = Kept()
    importer = OneSchema(kept)
    importer.feed(b"-- first\n")
    with pytest.raises(Rejected) as caught:
        importer.feed(b"DROP SCHEMA shop;\n")
    assert caught.value.line == 2 and kept.lines == [b"-- first\n"]
