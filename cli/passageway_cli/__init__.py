"""The command line, and what composes the services into one process."""
