"""Facts of this machine about a server on it: owners and modes of its files, its account, its
processes. Only stat(2), /etc/passwd, /etc/group, sudoers and /proc are read."""
