"""The engine as a child process: its plan, its events, its watchdog."""
