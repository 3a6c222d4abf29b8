"""Parts of sentences for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def meant(word: str, known: Iterable[str]) -> str:
    """A question for the word that was probably meant, or nothing; to be put after a sentence."""
    from difflib import get_close_matches  # loaded where something is wrong only

    near = get_close_matches(word, list(known), 1)
    return f', did you mean {near[0]}?' if near else ''


def counted(number: int, noun: str) -> str:
    """``1 tree``, ``2 trees``."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def first(said: Sequence[object], most: int = 3) -> str:
    """``a; b; c; and 2 more``: the first of many sentences."""
    shown = '; '.join(map(str, said[:most]))
    return f'{shown}; and {len(said) - most} more' if len(said) > most else shown


def listed(names: Sequence[str], most: int, others: str = 'more') -> str:
    """``a, b, c and 2 more``: the first of many names."""
    shown = ', '.join(names[:most])
    return f'{shown} and {len(names) - most} {others}' if len(names) > most else shown
