"""MariaDB and MySQL: managed and external servers, which share most of their dialect."""
