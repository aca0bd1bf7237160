"""Argument parser of the command, whose errors are one line that names what would be right."""
from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Callable, Sequence
from typing import NoReturn

__all__ = ["Parser", "UsageError", "choose_target"]


class UsageError(Exception):
    """An error in the command line or the file, which ends the command with status 2."""


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError, where argparse would print the usage and end the process."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError. If the argument of an option is missing, the message has the help of
        that option.
        """
        missing = re.fullmatch(r"argument (-[\w-]+).*: expected one argument", message)
        action = missing and self._option_string_actions.get(missing[1])
        if action:
            message = f"{message}: {action.help}"
        raise UsageError(f"{message} ({self.prog} --help tells more)")

    def parse_known_options(
        self, words: Sequence[str], hint: Callable[[argparse.Namespace], str] = lambda _: ""
    ) -> argparse.Namespace:
        """As `parse_args`, with positional words anywhere between options; for an unknown option
        the message names all options, and the one with the most similar name. It ends with what
        ``hint`` says of the options that are known.
        """
        options, unknown = self.parse_known_intermixed_args(list(words))
        if unknown:
            self.error(self._unknown_word(unknown[0]) + hint(options))
        return options

    def _unknown_word(self, word: str) -> str:
        """The message for a word that is no option, or one positional word too many."""
        if not word.startswith("-"):
            return f"{word} is one word too many"
        known = list(self._option_string_actions)
        near = difflib.get_close_matches(word.partition("=")[0], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"no option {word}{hint} (options: {', '.join(sorted({*known} - {'-h'}))})"


def choose_target(name: str | None) -> None:
    """Set the target of functions with ``target="auto"``. Raises UsageError, also for an invalid
    environment variable.
    """
    from targets.isa.target_registry import TARGETS

    from .. import knobs
    from ..options import Options, chosen_target

    if name and name not in (*TARGETS, "auto"):
        raise UsageError(f"--target {name}: no such target (known: {', '.join(TARGETS)}, auto)")
    if name:
        os.environ["TRANSPILE_TARGET"] = name
    try:
        chosen_target(Options(), knobs.read())
    except ValueError as error:
        raise UsageError(error) from None
