"""A Galera cluster as a simulation: who is primary, how long writes stall and why.

Written from the public documentation (https://galeracluster.com/library/documentation,
https://mariadb.com/docs/galera-cluster) and from what real clusters of Galera 26.4 were seen to do;
where the documentation is silent, the module says what was observed.
"""
