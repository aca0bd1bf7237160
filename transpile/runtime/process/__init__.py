"""Compilation in a process: its locks, threads and stacks, its failures and its progress."""
