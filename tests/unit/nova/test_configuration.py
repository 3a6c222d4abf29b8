# SPDX-License-Identifier: Apache-2.0
"""The options of a nova.conf are those that oslo.config finds in it."""

import random

from oslo_config import cfg

from placementclient.hosts import device_spec
from placementclient.nova import settings
from placementclient.nova.configuration import find_option_settings, parse_options

LINES = (
    '[pci]', '[PCI]', '[DEFAULT]', '[Default]', '[ pci]', '[', '[]', 'a = 1', 'b: "x"', "c='y'",
    'd =', 'e = "', '    goes on', '\tand on', '', '  ', '# a = 1', '; b',
    'alias = {"name": "n", "x=y": 1}', "f = 'g: h'", 'neither',
)  # fmt: skip


class Oslo(cfg.ConfigParser):
    """Keeps what oslo.config finds."""

    def __init__(self):
        super().__init__('nova.conf', {})
        self.options = list[tuple[str, str, str]]()

    def assignment(self, key, value):
        super().assignment(key, value)
        section = self.section if self.section == 'DEFAULT' else self.section.lower()
        self.options.append((section, key, ' '.join(value)))

    def parse(self, lines):
        cfg.iniparser.BaseParser.parse(self, lines)


def test_a_file_is_read_as_oslo_config_reads_it():
    chance = random.Random(32)
    read = 0
    for _ in range(2_000):
        lines = chance.choices(LINES, k=chance.randrange(9))
        judge = Oslo()
        try:
            judge.parse(lines)
        except cfg.ParseError:
            continue
        read += 1
        listed = [option[:3] for option in parse_options('\n'.join(lines), 'nova.conf')]
        assert listed == judge.options, lines
    assert read > 300


#: The options of Nova 34, with their deprecated names.
PCI = (
    cfg.MultiStrOpt('alias', default=[], deprecated_name='pci_alias', deprecated_group='DEFAULT'),
    cfg.MultiStrOpt(
        'device_spec',
        default=[],
        deprecated_opts=[
            cfg.DeprecatedOpt('passthrough_whitelist', group='pci'),
            cfg.DeprecatedOpt('pci_passthrough_whitelist', group='DEFAULT'),
        ],
    ),
)


def test_devices_and_aliases_are_read_under_every_name_that_oslo_config_knows(tmp_path):
    chance = random.Random(34)
    names = ('device_spec', 'passthrough_whitelist', 'pci_passthrough_whitelist')
    for _ in range(100):
        lines = ['[DEFAULT]']
        for number in range(chance.randrange(9)):
            lines.append(chance.choice(['[PCI]', '[pci]', '[DEFAULT]', '[default]', '[ pci ]']))
            lines += [f'{chance.choice((*names, "alias", "pci_alias"))} = {number}']
        path = tmp_path / 'nova.conf'
        path.write_text('\n'.join(lines))
        conf = cfg.ConfigOpts()
        conf.register_opts(PCI, 'pci')
        conf(['--config-file', str(path)])
        text = path.read_text()
        for known, expected in (
            (device_spec.OPTIONS, conf.pci.device_spec),
            (settings.ALIAS_OPTION, conf.pci.alias),
        ):
            listed = [option.value for option in find_option_settings(text, 'nova.conf', known)]
            assert listed == expected, lines
