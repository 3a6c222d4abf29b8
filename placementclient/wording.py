"""Parts of sentences for people."""

from __future__ import annotations

from collections.abc import Iterable


def meant(word: str, known: Iterable[str]) -> str:
    """A question for the word that was probably meant, or nothing; to be put after a sentence."""
    from difflib import get_close_matches  # loaded where something is wrong only

    near = get_close_matches(word, list(known), 1)
    return f', did you mean {near[0]}?' if near else ''


def counted(number: int, noun: str) -> str:
    """``1 tree``, ``2 trees``."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'
