"""What is checked and said before a run: the file, the machine, whose commands it runs."""
