"""Ahead-of-time compilation: ``transpile FILE --build`` makes a package that needs no compiler."""
