"""Names of providers, and patterns of names as of files, as options take them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from placementclient.wording import suggestion


def is_pattern(name: str) -> bool:
    """Whether a name stands for every provider whose name matches it."""
    return any(character in name for character in '*?[')


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern matches; capitals count."""
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def unmatched(pattern: str, names: Iterable[str]) -> str:
    """Return the sentence for a pattern that matches no provider, without its full stop.

    :param names: the names that there are, for the question which one was meant
    """
    return f'"{pattern}" matches no provider{suggestion(pattern, similar(pattern, set(names)))}'


def similar(name: str, names: set[str]) -> set[str]:
    """Return names, or patterns that match one, to which a name or a pattern may be close."""
    if not is_pattern(name):
        return names
    first = next(index for index, character in enumerate(name) if character in '*?[')
    rest = name[first:]
    lengths = range(max(first - 1, 0), first + 2)
    patterns = {
        each[:length] + rest
        for each in names
        for length in lengths
        if fnmatch.fnmatchcase(each[length:], rest)
    }
    return patterns or names
