"""The packages of a release: built by `make dist`, installed for a trial by `make dist-test`."""
