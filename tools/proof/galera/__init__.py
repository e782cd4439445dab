"""Real MariaDB Galera nodes on loopback, what is done to them, and what they were seen to do."""
