"""The process that the compiler runs in: the signal handlers of the user."""
