# SPDX-License-Identifier: Apache-2.0
"""The prose of the documentation: short sentences with plain openings."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / 'doc' / 'source'
GENERATED = SOURCE / 'commands'
PAGES = [
    ROOT / 'README.rst',
    ROOT / 'CONTRIBUTING.rst',
    ROOT / 'SECURITY.rst',
    *(path for path in sorted(SOURCE.rglob('*.rst')) if GENERATED not in path.parents),
]
#: Words in a sentence, an inline literal being one.
LONGEST = 30
OPENING = re.compile(r'(What|Who|Whose|Whom|Whether|Where|Whence|How)\b')
#: How many of all sentences may break a rule: a page should not fail for one bad sentence.
TOLERATED = 5
#: Directives whose contents are prose.
PROSE = ('list-table', 'note', 'warning')
_DIRECTIVE = re.compile(r'( *)\.\. (?:([\w-]+)::|_)')
_ITEM = re.compile(r' *(?:\* - |[-*] |\d+\. )+')
#: Lines that are no prose: underlines, and options of directives.
_MARKUP = re.compile(r' *([=\-]+( +=+)*$|:[\w-]+:)')
_DOCTEST = re.compile(r'^ *>>> .*\n(?:.+\n)*', re.MULTILINE)
_LITERAL = re.compile(r'``.+?``|:\w+:`.+?`|`[^`]+`_?', re.DOTALL)


def paragraphs(text):
    """Return the paragraphs, items and cells of a page, each on one line."""
    hidden: int | None = None
    current: list[str] = []
    column = 0
    text = _DOCTEST.sub('', text)
    for line in [*text.splitlines(), '']:
        indent = len(line) - len(line.lstrip())
        if line.strip() and hidden is not None and indent <= hidden:
            hidden = None
        if hidden is not None:
            continue
        directive = _DIRECTIVE.match(line)
        if directive and directive[2] not in PROSE:
            hidden = len(directive[1])
        item = _ITEM.match(line)
        if not line.strip() or directive or item or indent != column:
            yield ' '.join(current)
            current = []
        column = item.end() if item else indent
        if not directive and not _MARKUP.match(line):
            current += [cell for cell in re.split(r'(?<=\S)  +', line[column:]) if cell]
            if '  ' in line[column:] or line[column:].startswith('| '):
                yield from current
                current = []
        if line.endswith('::') and not directive:
            hidden = indent
            yield ' '.join(current)
            current = []


def sentences(text):
    """Return the sentences of a page, each literal as the word ``X``."""
    for paragraph in paragraphs(text):
        plain = re.sub(r'[*|]', '', _LITERAL.sub('X', paragraph))
        yield from re.split(r'(?<=[.!?])\)? +(?=[A-Z(])', plain)


def faults(text):
    """Return what is wrong with the sentences of a page."""
    for sentence in sentences(text):
        words = len(re.findall(r"[\w'’/.-]+", sentence))
        if words > LONGEST:
            yield f'{words} words: {sentence}'
        if OPENING.match(sentence):
            yield f'opening: {sentence}'


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('The command prints a line.', []),
        ('Where it stops, it says so.', ['opening: Where it stops, it says so.']),
        ('* What is this.\n* Fine.', ['opening: What is this.']),
        ('.. list-table::\n\n   * - How\n     - It stops.\n', ['opening: How']),
        ('Text::\n\n   What is code\n\n.. code-block:: sh\n\n   Whether it is\n', []),
        ('a ' * 30 + 'b.', ['31 words: ' + 'a ' * 30 + 'b.']),
        ('a ' * 20 + '``What who``. ' + 'B ' * 20 + 'c.', []),
    ],
)
def test_long_sentences_and_indirect_openings_are_found(text, expected):
    assert list(faults(text)) == expected


def test_pages_have_short_sentences_with_plain_openings():
    faults_of_pages = [
        f'{path.relative_to(ROOT)}: {fault}' for path in PAGES for fault in faults(path.read_text())
    ]
    assert len(faults_of_pages) <= TOLERATED, '\n'.join(faults_of_pages)
