# SPDX-License-Identifier: Apache-2.0
"""Names of providers and shell patterns for names, as in options."""

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar

#: The most unknown names with a suggestion: each costs a tenth of a second.
MAX_HINTS = 20


def is_pattern(name: str) -> bool:
    """Return whether a text is a shell pattern, such as ``compute-?``."""
    return any(character in name for character in '*?[')


def escape_pattern(name: str) -> str:
    """Return the pattern that matches a name alone."""
    return re.sub('([*?[])', r'[\1]', name)


def find_matching_names(pattern: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def describe_unmatched_pattern(pattern: str, names: Iterable[str], kind: str = 'provider') -> str:
    """Return the message that a pattern matches none of some names, with similar names.

    :param kind: the noun for the objects with these names
    """
    similar = find_similar_names(pattern, set(names))
    return f'"{pattern}" matches no {kind}{suggest_similar(pattern, similar)}'


def expand_patterns(
    names: Iterable[str], root_uuids: Callable[[], Mapping[str, str]], kind: str = 'provider'
) -> list[str]:
    """Return names and UUIDs; replace each pattern by the UUIDs of the trees that match it.

    A provider whose name looks like a pattern is found by its name.

    :param root_uuids: returns by the name of each provider the UUID of its root; called only if
        there is a pattern
    :raises errors.NoSuchProvider: if a pattern matches nothing
    """
    result: dict[str, None] = {}
    roots: Mapping[str, str] | None = None
    for name in names:
        if is_pattern(name):
            roots = root_uuids() if roots is None else roots
            matches = [name] if name in roots else find_matching_names(name, roots)
            if not matches:
                raise errors.NoSuchProvider(describe_unmatched_pattern(name, roots, kind))
            result |= dict.fromkeys(roots[match] for match in matches)
        else:
            result[name] = None
    return list(result)


def find_similar_names(name: str, names: set[str]) -> set[str]:
    """Return the texts that a user may have meant by a name or pattern without a match.

    They are similar patterns that match, or all names if there is no such pattern.

    :param name: the name or pattern
    :param names: those that exist
    """
    if not is_pattern(name):
        begun = [other for other in names if other.startswith(name)]
        return {f'{name}*'} if begun[1:] else names
    first = next(index for index, character in enumerate(name) if character in '*?[')
    rest = name[first:]
    lengths = range(max(first - 1, 0), first + 2)
    patterns = {
        name[:length] + rest
        for name in names
        for length in lengths
        if fnmatch.fnmatchcase(name[length:], rest)
    }
    return patterns or names


def find_similar_uuids(uuid: str, uuids: Iterable[str]) -> set[str]:
    """Return the UUIDs that begin or end like another one, as a copied one with a typo does."""
    return {other for other in uuids if uuid[:8] == other[:8] or uuid[-12:] == other[-12:]}
