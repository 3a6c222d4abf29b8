# SPDX-License-Identifier: Apache-2.0
"""Differences between snapshots as lines of text."""

from msgspec import structs

from placementclient.insight import diff
from placementclient.model.inventories import Inventory
from placementclient.render import differences
from placementclient.render.lines import wrap_lines
from tests.unit.insight.clouds import cloud, consumer, provider

SERVER = '5c4bd1a6-5c3e-5b0e-9d0e-000000000001'


def drawn(before, after, width=80):
    texts = differences.describe_differences([*diff.find_differences(before, after)])
    return list(wrap_lines(texts, width))


def test_each_difference_is_a_line_with_a_sign():
    before = cloud(
        [
            provider('a.b', VCPU=4, MEMORY_MB=2048, traits=['CUSTOM_OLD', 'CUSTOM_SAME']),
            provider('gone', DISK_GB=2048),
        ],
        [consumer(SERVER, **{'a.b': {'VCPU': 1, 'MEMORY_MB': 1024}}), consumer('left')],
    )
    changed = provider(
        'a.b',
        traits=['CUSTOM_NEW', 'CUSTOM_SAME'],
        aggregates=['agg'],
        VCPU=Inventory(4, allocation_ratio=16.0),
        VGPU=2,
    )
    after = cloud(
        [changed, provider('new', VCPU=8)],
        [consumer(SERVER, **{'a.b': {'VCPU': 3}}), consumer('more', new={'VCPU': 2})],
    )
    assert drawn(before, after) == [
        '+ a.b aggregate agg',
        '- a.b MEMORY_MB 2 GiB',
        '~ a.b VCPU allocation_ratio 1.0 → 16.0',
        '+ a.b VGPU 2',
        '+ a.b trait CUSTOM_NEW',
        '- a.b trait CUSTOM_OLD',
        '- gone DISK_GB 2 TiB',
        '+ new VCPU 8',
        f'- {SERVER} MEMORY_MB on a.b 1 GiB',
        f'~ {SERVER} VCPU on a.b 1 → 3',
        '- left',
        '+ more VCPU on new 2',
    ]


def test_a_line_is_not_broken_within_a_uuid():
    names = ['one-host-with-a-long-name', 'another-host-with-a-long-name']
    before = cloud([provider(name, VCPU=4) for name in names], [])
    resources = {name: {'VCPU': 1} for name in names}
    after = cloud(list(before.providers.values()), [consumer(SERVER, **resources)])
    assert drawn(before, after, 60) == [
        f'+ {SERVER} VCPU on',
        '    another-host-with-a-long-name 1, VCPU on',
        '    one-host-with-a-long-name 1',
    ]


def test_the_amounts_that_a_consumer_gains_are_one_line():
    hosts = [provider(name, VCPU=4, DISK_GB=9) for name in ('a', 'b')]
    held = {'VCPU': 1, 'DISK_GB': 2}
    before = cloud(hosts, [consumer('evacuated', a=held)])
    after = cloud(hosts, [consumer('evacuated', a=held, b=held), consumer('new', b=held)])
    assert drawn(before, after) == [
        '+ evacuated DISK_GB on b 2 GiB, VCPU on b 1',
        '+ new DISK_GB on b 2 GiB, VCPU on b 1',
    ]


def test_a_provider_with_another_uuid_is_one_line_with_both_uuids():
    old = provider('host', VCPU=4)
    new = structs.replace(old, provider=structs.replace(old.provider, uuid='0-new'))
    assert drawn(cloud([old], []), cloud([new], [])) == [f'~ host UUID {old.uuid} → 0-new']
    larger = structs.replace(new, inventories={'VCPU': Inventory(8)})
    assert sorted(drawn(cloud([old], []), cloud([larger], []))) == [
        '+ host VCPU 8',
        '- host VCPU 4',
        f'~ host UUID {old.uuid} → 0-new',
    ]
