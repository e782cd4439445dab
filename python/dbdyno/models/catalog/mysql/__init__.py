"""Models of MySQL and MariaDB."""
