"""Functions that others wrote to be compiled, downloaded, and run both ways."""
