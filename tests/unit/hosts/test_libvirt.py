# SPDX-License-Identifier: Apache-2.0
import pytest

from placementclient.basis import errors
from placementclient.hosts import libvirt
from tests.unit.hosts.libvirt_output import (
    CAPABILITIES,
    GPU0,
    MDEVS,
    SERVERS,
    domain,
    mdevctl,
    nodedev,
    pci,
)


def test_xml_in_an_unknown_encoding_is_an_error_of_one_line():
    content = b"<?xml version='1.0' encoding='evil'?><domain/>"
    with pytest.raises(errors.BadFile, match=r'd\.xml: not XML in a known encoding: UTF-8'):
        libvirt.parse_domain(content, 'd.xml')


def test_all_mediated_devices_of_a_domain_are_read():
    parsed = libvirt.parse_domain(domain(SERVERS[0], *MDEVS[:2]).encode(), 'd.xml')
    assert (parsed.uuid, parsed.mdevs) == (SERVERS[0], tuple(MDEVS[:2]))


@pytest.mark.parametrize(
    ('inside', 'nodeset', 'cpus'),
    [
        ("<numatune><memory mode='strict' nodeset='1'/></numatune>", {1}, set()),
        ("<numatune><memory nodeset='0'/><memnode cellid='0' nodeset='1'/></numatune>", {0}, set()),
        ("<numatune><memnode cellid='0' nodeset='0-1'/></numatune>", {0, 1}, set()),
        ("<cputune><vcpupin vcpu='0' cpuset='2-3,^3'/></cputune>", set(), {2}),
        ('', set(), set()),
    ],
)
def test_the_numa_cells_of_a_domain_are_read(inside, nodeset, cpus):
    parsed = libvirt.parse_domain(domain(SERVERS[0], inside=inside).encode(), 'd.xml')
    assert (parsed.nodeset, parsed.cpus) == (nodeset, cpus)


@pytest.mark.parametrize('uuid', [True, False], ids=['7.3 and later', 'before 7.3'])
def test_a_mediated_device_is_read_with_its_parent_and_type(uuid):
    parsed = libvirt.parse_mediated_device(nodedev(MDEVS[0], GPU0, uuid=uuid).encode(), 'n.xml')
    assert parsed is not None
    assert (parsed.uuid, parsed.parent, parsed.type) == (MDEVS[0], GPU0, 'nvidia-699')


def test_other_node_devices_are_passed_over():
    assert libvirt.parse_mediated_device(pci(GPU0).encode(), 'n.xml') is None


def test_mdevctl_names_the_parent_by_its_address():
    (parsed,) = libvirt.parse_mdevctl_list(
        mdevctl(('0000:84:00.0', MDEVS[0])).encode(), 'mdevctl.json'
    )
    assert (parsed.uuid, parsed.parent, parsed.type) == (MDEVS[0], GPU0, 'nvidia-699')
    assert list(libvirt.parse_mdevctl_list(b'', 'mdevctl.json')) == []


def test_the_numa_cell_of_each_cpu_is_read():
    assert libvirt.parse_numa_cells(CAPABILITIES.encode(), 'c.xml') == {0: 0, 1: 0, 2: 1, 3: 1}


BOMB = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><domain>&b;</domain>'
OUTSIDE = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><domain><uuid>&x;</uuid></domain>'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (BOMB, 'd.xml: declares entities or a document type: not read'),
        (OUTSIDE, 'd.xml: declares entities or a document type: not read'),
        ('<domain>\n<uuid>', 'd.xml:2: not XML, or not complete'),
        ('<domain><uuid>7</uuid></domain>', 'd.xml: has no UUID where there has to be one'),
        ('<volume/>', 'd.xml: not a <domain>'),
        ('', 'd.xml:1: not XML, or not complete'),
        ('<a>' * 200_000, 'd.xml:1: not XML, or not complete'),
        (
            domain(SERVERS[0], inside="<numatune><memory nodeset='0-4294967295'/></numatune>"),
            "d.xml: '0-4294967295' is no set of numbers",
        ),
    ],
)
def test_xml_that_is_no_domain_is_an_error_of_one_line(text, message):
    with pytest.raises(errors.BadFile) as caught:
        libvirt.parse_domain(text.encode(), 'd.xml')
    assert str(caught.value) == message


@pytest.mark.parametrize('text', ['{', '[1]', '[{"a": 1}]', '[{"0000:84:00.0": [{"x": {}}]}]'])
def test_output_that_mdevctl_does_not_print_is_an_error(text):
    with pytest.raises(errors.BadFile):
        list(libvirt.parse_mdevctl_list(text.encode(), 'mdevctl.json'))


@pytest.mark.parametrize('name', ['', '../../x', 'a b', 'a\x1b[0m', '-rf', 'x' * 300])
def test_a_host_name_that_is_none_is_refused(name):
    with pytest.raises(errors.BadFile):
        libvirt.parse_hostname(name.encode(), 'hostname')
