# SPDX-License-Identifier: Apache-2.0
"""Parts of sentences for people."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

#: The least width of a line, in characters.
NARROWEST = 24
#: The states of which a tally prints the first names; they come last.
_NAMED = ('left alone', 'done in part', 'not known', 'failed', 'differs')

#: The program in the commands of the package that texts name.
_OWN_COMMAND = re.compile(r'\bplacement(?= (?:resource|allocation candidate|trait) )')
#: A command at the end of a line: after a colon, after the number of a step, or alone. A word
#: that ends as a clause does belongs to a sentence.
_LAST_COMMAND = re.compile(
    r'(?:(?P<text>.*:) +| *(?:\d+\. )?)'
    r'(?P<command>(?:[A-Z_]+=\S+ )?'
    r'(?:placement|openstack|(?:nova|placement)-manage|mkdir|iconv|pip|rm|unset|echo)'
    r'(?: +\S*[^\s.,;:?!)])+)'
)
#: The words that people use for names that look different.
_SYNONYMS = {
    'RAM': ('MEMORY_MB',),
    'SERVER': ('CONSUMER',),
    'INSTANCE': ('CONSUMER',),
    'TENANT': ('PROJECT',),
    'NODE': ('HOST', 'TREE'),
    'HYPERVISOR': ('HOST', 'TREE'),
}
#: How many equally similar words are suggested.
_MOST_SUGGESTED = 3
#: The length from which on the beginning of a UUID is no word.
_LEAST_OF_UUID = 4


def suggest_similar(unknown: str | Iterable[str], words: Iterable[str]) -> str:
    """Return ``. Did you mean "vcpu"?`` for mistyped words; empty if no word is similar."""
    near = find_closest_words([unknown] if isinstance(unknown, str) else unknown, words)
    return f'. {format_suggestion(near)}' if near else ''


def find_closest_words(unknown: Iterable[str], words: Iterable[str]) -> list[str]:
    """Return the words that are most similar to each unknown one, if any are similar.

    :return: of each unknown word at most three, which are equally similar
    """
    candidates, near = list(words), dict[str, None]()
    for word in unknown:
        near |= dict.fromkeys(find_most_similar(word, candidates)[:_MOST_SUGGESTED])
    return list(near)


def find_most_similar(word: str, candidates: Sequence[str], least: float = 0.6) -> list[str]:
    """Return the candidates that are most similar to a word: several if they are equally similar.

    :param least: the least similarity, from 0 to 1
    """
    from difflib import SequenceMatcher, get_close_matches  # loaded where something is wrong only

    def measure_similarity(match: str) -> tuple[bool, float]:
        """Return whether the match has the letters of the word, and the likeness from 0 to 1."""
        # Letters that are transposed are likelier than others.
        return sorted(match) == sorted(word), SequenceMatcher(None, match, word).ratio()

    if same := _find_same_word(word, candidates):
        return same
    if not (matches := get_close_matches(word, candidates, len(candidates) or 1, least)):
        return _find_longer_words(word, candidates)
    best = max(map(measure_similarity, matches))
    return sorted(match for match in matches if measure_similarity(match) == best)


def _find_same_word(word: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that are a word in other case, or ``MEMORY_MB`` for ``RAM``."""
    meant = {word.upper(), *_SYNONYMS.get(word.upper(), ())}
    return sorted(name for name in candidates if name.upper() in meant)


def _find_longer_words(word: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that begin with a word: ``MEMORY_MB`` for ``MEM``."""
    return sorted(
        name for name in candidates if len(word) > 2 and name.startswith((word, word.upper()))
    )


def suggest_uuids(beginning: str, names: Mapping[str, str]) -> str:
    """Return a sentence with the UUIDs that begin with a text, and their names; empty: none does.

    :param names: by UUID
    """
    if len(beginning) < _LEAST_OF_UUID:
        return ''
    matches = [f'{u} ({n})' for u, n in names.items() if u.startswith(beginning.lower())]
    return f'. UUIDs that begin with it: {join_names(matches, 3)}' if matches else ''


def format_suggestion(words: Iterable[str]) -> str:
    """Return ``Did you mean "a" or "b"?``; an empty text without words."""
    quoted = ' or '.join(f'"{word}"' for word in words)
    return quoted and f'Did you mean {quoted}?'


def format_next_steps(steps: Sequence[str]) -> str:
    """Return ``Next: STEP`` for one step, a numbered list for several, nothing without any.

    :param steps: each a command, or a clause that may end with a colon and a command
    """
    if len(steps) < 2:
        return ''.join(f'Next: {step}' for step in steps)
    return '\n'.join(['Next:', *(f'  {n}. {step}' for n, step in enumerate(steps, 1))])


def format_install_command(extra: str) -> str:
    """Return the command that installs an extra, as the end of a sentence."""
    return (
        f'pip install "python-placementclient[{extra}]", or in a checkout pip install ".[{extra}]"'
    )


def replace_program(text: str, program: str) -> str:
    """Return a text with a program in place of ``placement`` in the commands that it names."""
    return text if program == 'placement' else _OWN_COMMAND.sub(program, text)


def split_last_command(line: str) -> tuple[str, str]:
    """Return the text before the command at the end of a line, and the command.

    A line that is all command has no text, and loses its indent and its number (``1.``). A line
    without a command is all text, and the command is empty.
    """
    match = _LAST_COMMAND.fullmatch(line)
    return (match['text'] or '', match['command']) if match else (line, '')


def mask_credentials(text: str) -> str:
    """Return a text with ``***`` instead of user and password in its URLs."""
    return re.sub(r'(?<=://)[^/?#\s]*@', '***@', text)


def add_names_to_uuids(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the name after each UUID that has none yet: ``UUID (NAME)``."""
    for uuid, name in names.items():
        # A name may have anything in it.
        text = f'{uuid} ({name})'.join(re.split(rf'{re.escape(uuid)}(?! \()', text))
    return text


def split_lines(text: str) -> list[str]:
    """Return the lines of a program's output: :meth:`str.splitlines` would split names too."""
    return text.replace('\r\n', '\n').removesuffix('\n').split('\n')


def wrap_words(text: str, width: int, indent: str = '') -> list[str]:
    """Return the lines of a text; no word is broken, so that names and options can be copied.

    :param width: of the longest line, in characters; :data:`NARROWEST` at least
    :param indent: the beginning of all lines but the first one
    """
    return textwrap.wrap(
        text,
        max(width, NARROWEST),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 tree``, ``2 trees``."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def join_first_sentences(sentences: Sequence[object], most: int = 3) -> str:
    """Return the first of many sentences: ``a; b; c; and 2 more``."""
    shown = '; '.join(map(str, sentences[:most]))
    return f'{shown}; and {len(sentences) - most} more' if len(sentences) > most else shown


def describe_unsteady_trees(names: Sequence[str]) -> str:
    """Return the warning that others changed the trees with these names at each reading."""
    return (
        'Perhaps inconsistent, because others changed the tree at each reading: '
        f'{join_names(names, 3)}'
    )


def join_names(names: Sequence[str], most: int, others: str = 'more') -> str:
    """Return the first ``most`` of many names: ``a, b, c and 2 more``.

    :param others: the word for the names that are left out, in the plural
    """
    shown, left = ', '.join(names[:most]), len(names) - most
    if left < 1:
        return shown
    return f'{shown} and {left} {others.removesuffix("s") if left == 1 else others}'


def summarize_states(states: Iterable[tuple[str, str]]) -> str:
    """Return how many trees are in each state, with names: ``8 applied, 2 left alone: gpu7, gpu9``.

    Only states that need attention, :data:`_NAMED`, have names.

    :param states: the name and the state of each tree
    """
    names: dict[str, list[str]] = {}
    for name, state in states:
        names.setdefault(state, []).append(name)
    plain = [f'{len(names[state])} {state}' for state in names if state not in _NAMED]
    counts = [
        f'{len(members)} {state}: {join_names(members, 5)}'
        for state, members in names.items()
        if state in _NAMED
    ]
    return ', '.join([*plain, '; '.join(counts)] if counts else plain)


def merge_alike_sentences(sentences: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield one sentence for those that differ only in the name of their tree.

    The sentence of ten trees begins with ``gpu01 and 9 others:``.

    :param sentences: pairs of the name of a tree and a sentence about it
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for tree, sentence in sentences:
        groups.setdefault(_mask_name(sentence, tree), []).append((tree, sentence))
    for group in groups.values():
        tree, sentence = group[0]
        others = len({name for name, _ in group}) - 1
        trees = f'{tree} and {format_count(others, "other")}' if others else tree
        yield f'{trees}: {sentence}'


def _mask_name(sentence: str, name: str) -> str:
    """Return a sentence with NUL in place of a name, where it is not the end of a longer word."""
    masked, *parts = sentence.split(name)
    for part in parts:
        is_within_word = masked[-1:].isalnum() or masked.endswith('_')
        masked += (name if is_within_word else '\0') + part
    return masked
