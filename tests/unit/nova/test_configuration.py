"""The options of a nova.conf are those that oslo.config finds in it."""

import random

import pytest
from oslo_config.iniparser import BaseParser, ParseError

from placementclient.client import errors
from placementclient.nova.configuration import options

LINES = (
    '[pci]', '[ DEFAULT ]', 'a = 1', 'b: "x"', "c='y'", 'd =', 'e = "', '    goes on', '\tand on',
    '', '  ', '# a = 1', '; b', 'alias = {"name": "n", "x=y": 1}', "f = 'g: h'", 'neither',
)  # fmt: skip


class Oslo(BaseParser):
    """Keeps what oslo.config finds."""

    def __init__(self):
        self.section, self.options = 'DEFAULT', list[tuple[str, str, str]]()

    def new_section(self, section):
        self.section = section.strip()

    def assignment(self, key, value):
        self.options.append((self.section, key, ' '.join(value)))


def test_a_file_is_read_as_oslo_config_reads_it():
    chance = random.Random(32)
    read = 0
    for _ in range(2_000):
        lines = chance.choices(LINES, k=chance.randrange(9))
        judge = Oslo()
        try:
            judge.parse(lines)
        except ParseError:
            continue
        read += 1
        listed = [option[:3] for option in options('\n'.join(lines), 'nova.conf')]
        assert listed == judge.options, lines
    assert read > 500


def test_a_line_that_is_no_option_is_named():
    with pytest.raises(errors.BadFile, match=r'nova\.conf:3: neither an option nor a section'):
        list(options('[pci]\n\nalias', 'nova.conf'))
