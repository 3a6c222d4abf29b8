# SPDX-License-Identifier: Apache-2.0
"""Documents as text: what is laid out is read back."""

import pytest
import yaml

from placementclient.files import cursors
from placementclient.files.documents import format_json, format_yaml

both = pytest.mark.parametrize('layout', [format_json, format_yaml])


@both
def test_yaml_aliases_are_read(layout):
    part = {'total': 1, 'allocation_ratio': 1.5}
    document = [
        {'a': part, 'b': [part, {'c': part}], 'd': part},
        [[part], part],
        part,
        {'empty': {}, 'none': [], 'nested': [[], {}, [[1, [2]], 3]]},
    ]
    assert cursors.parse_document(layout(document), '').value == document


def test_documents_have_the_layout_of_other_tools():
    document = [{'name': 'a', 'VCPU': {'total': 1}, 'traits': ['B', 'C'], 'children': [{'x': []}]}]
    assert format_yaml(document) == yaml.safe_dump(document, sort_keys=False)
    assert format_json(document) == (
        '[\n  {\n    "name": "a",\n    "VCPU": {\n      "total": 1\n    },\n    "traits": [\n'
        '      "B",\n      "C"\n    ],\n    "children": [\n      {\n        "x": []\n      }\n'
        '    ]\n  }\n]'
    )


@pytest.mark.parametrize(
    ('text', 'written'),
    [
        ('compute1.example.org', 'compute1.example.org'),
        ('gpu_0000:84:00.0', 'gpu_0000:84:00.0'),
        ('1:30', "'1:30'"),
        ('yes', "'yes'"),
        ('2026-01-01', "'2026-01-01'"),
        ("it's", "'it''s'"),
        ('ü', "'ü'"),
        ('a\nb', '"a\\nb"'),
        ('', "''"),
        (1e30, '1.0e+30'),
        (1.5, '1.5'),
        (True, 'true'),
    ],
)
def test_values_of_yaml_are_read_as_their_types(text, written):
    assert format_yaml(text) == f'{written}\n'


@both
def test_a_tuple_is_a_list_and_another_object_is_refused(layout):
    assert layout({'a': (1, (), ('b',))}) == layout({'a': [1, [], ['b']]})
    with pytest.raises(TypeError):
        layout([object()])
