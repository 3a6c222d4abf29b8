# SPDX-License-Identifier: Apache-2.0
"""The options of nova.conf that decide on requests."""

import pytest

from placementclient.basis import errors
from placementclient.model.requests import Filter
from placementclient.nova.server_parts import Refusal
from placementclient.nova.settings import Settings, parse_settings

CONF = """# a comment
[DEFAULT]
default_schedule_zone = "az1"
debug = true
[pci]
alias = {"name": "a", "vendor_id": "10de",
   "product_id": "20f1"}
alias: {"name": "g", "resource_class": "pgpu", "traits": "custom-a, b"}
; another
[filter_scheduler]
pci_in_placement=True
"""


def test_settings_have_the_defaults_of_nova():
    assert parse_settings([]) == Settings()
    assert parse_settings([('x', '')]) == Settings(is_read=True)


def test_the_last_value_counts_and_aliases_add_up():
    more = '[DEFAULT]\ndefault_schedule_zone=az2\n[pci]\nalias={}\n[scheduler]\n'
    read = parse_settings([('a', CONF), ('b', f'{more}max_placement_results = 10\n')])
    assert (read.default_schedule_zone, read.max_placement_results) == ('az2', 10)
    assert (read.pci_in_placement, len(read.aliases)) == (True, 3)


def test_pci_aliases_are_read():
    assert parse_settings([('a', CONF)]).read_pci_aliases() == {
        'a': Filter({'CUSTOM_PCI_10DE_20F1': 1}),
        'g': Filter({'PGPU': 1}, ('CUSTOM_CUSTOM_A', 'CUSTOM__B')),
    }


@pytest.mark.parametrize(
    'aliases',
    [
        ('x',),
        ('[]',),
        ('{"name": ""}',),
        ('{"name": "a", "color": "x"}',),
        ('{"name": "a"}',),
        ('{"name": "a", "vendor_id": "10de", "product_id": "20f1"}',) * 2,
    ],
)
def test_a_pci_alias_that_nova_refuses_is_an_error(aliases):
    with pytest.raises(Refusal):
        Settings(True, aliases=aliases).read_pci_aliases()


def test_two_kinds_of_devices_may_share_an_alias_if_they_are_not_in_placement():
    text = '{"name": "a", "vendor_id": "10de", "product_id": "20f%s", "device_type": "type-PF"}'
    aliases = (text % 1, text % 2)
    assert set(Settings(True, aliases=aliases).read_pci_aliases()) == {'a'}
    with pytest.raises(Refusal, match='twice'):
        Settings(True, pci_in_placement=True, aliases=aliases).read_pci_aliases()


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('[scheduler]\nmax_placement_results = 0', "x.conf:2: max_placement_results: '0'"),
        ('\n[scheduler]\nimage_metadata_prefilter: maybe', 'x.conf:3: image_metadata_prefilter'),
        ('[pci]\nalias', 'x.conf:2: neither an option nor a section'),
    ],
)
def test_a_wrong_nova_conf_is_an_error_with_its_line(text, reason):
    with pytest.raises(errors.BadFile, match=reason):
        parse_settings([('x.conf', text)])
