"""What a data directory of MySQL or MariaDB has encrypted, from the bytes of its files."""
