# SPDX-License-Identifier: Apache-2.0
"""Specifications and assignments: what is read, and how errors say where they are."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from placementclient.basis import errors
from placementclient.files import specifications
from placementclient.files.encoding import convert_to_json
from placementclient.model.assignments import AssignmentRow
from placementclient.planner.specification import assignments

A = '00000000-0000-4000-8000-00000000000a'
#: No float has as much.
HUGE = 10**400
MOVE = '{from_resource_provider: a, to_resource_provider: b, moved_resources: {VGPU: 1}}'

BAD_SPECS = {
    '# to be written\n\n': 'spec: has comments only',
    'a: 1\n---\nb: 2\n': (
        'spec:2: the file has several documents, divided by ---: give one (expected a single '
        'document in the stream: but found another document)'
    ),
    'a: 1\n\nb: "open\n': (
        'spec:3: the file ends too early: copy the whole file again, or close what is open (while '
        'scanning a quoted scalar: found unexpected end of stream)'
    ),
    'a: 1\nb: [1, 2\n': (
        'spec:2: the file ends too early: copy the whole file again, or close what is open (while '
        "parsing a flow sequence: expected ',' or ']', but got '<stream end>')"
    ),
    '[' * 65 + ']' * 65: 'spec:1: nested too deeply',
    'a: b: c\n': (
        'spec:1: a text with ": " in it needs quotes (mapping values are not allowed here)'
    ),
    f'moves: [{MOVE}]\nmove: []': 'spec:2: move: unknown key. Did you mean "moves"?',
    f'- {MOVE}\n- from_resource_provider: a': (
        'spec:2: [1]: to_resource_provider and moved_resources are missing'
    ),
    '- {zzz: 1}': (
        'spec:1: [0].zzz: unknown key, known are from_resource_provider, to_resource_provider, '
        'moved_resources, as, moved_traits, consumers, name; spec:1: [0]: from_resource_provider '
        'and to_resource_provider and moved_resources are missing'
    ),
    f'moves: [{MOVE}]\nmoves: []': 'spec:2: moves appears twice',
    f'moves: [{MOVE}]\ntogether: [[VCPU]]': (
        'spec:2: together[0]: has to name two classes or more'
    ),
    f'moves: [{MOVE}]\ntogether: [[A, B], [B, C]]': (
        'spec:2: together[1]: names a class that is in a group already'
    ),
    f'moves: [{MOVE}]\nproviders:\n- name: b\n  inventories: {{A: {{allocation_ratio: {HUGE}}}}}': (
        'spec:4: providers[0].inventories.A.allocation_ratio: has to be from 0.0 to 3.40282e+38'
    ),
    f'moves: [{MOVE}]\nproviders:\n- name: b\n- name: b': 'spec:4: providers[1]: b appears twice',
    f'moves: [{MOVE}]\nproviders:\n- uuid: {A}': (
        'spec:3: providers[0]: a new provider needs a name; one that exists has its UUID under name'
    ),
    f'moves: [{MOVE}]\nproviders:\n- name: b\n  uuid: 8-9': (
        "spec:4: providers[0].uuid: '8-9' has to be a UUID"
    ),
    f'moves: [{MOVE}]\nproviders:\n- name: b\n  uuid: {A}\n- name: c\n  uuid: {A}': (
        f'spec:6: providers[1].uuid: {A} appears twice'
    ),
    f'moves: [{MOVE}]\nproviders:\n- name: "{{root}}_b"\n  uuid: {A}': (
        'spec:4: providers[0].uuid: is for one provider, but the name has a placeholder'
    ),
    f'moves: [{MOVE}]\nproviders:\n- name: b\n  parent: "{{source}}"': (
        'spec:4: providers[0].parent: {source} has no meaning if name lacks it'
    ),
    'moves:\n- {from_resource_provider: "{root}", to_resource_provider: b,'
    ' moved_resources: {VGPU: 1}}': (
        'spec: trees is missing, and a source with a placeholder selects none'
    ),
    '- {from_resource_provider: a, to_resource_provider: b, moved_resources: [A: 1, A: 2]}': (
        'spec:1: [0].moved_resources[1].A: A appears twice'
    ),
    '- {from_resource_provider: a, to_resource_provider: b,\n moved_resources: '
    '[A: 1,\n B: 0, c: 1]}': (
        'spec:3: [0].moved_resources[1].B: has to be from 1 to 2147483647; '
        "spec:3: [0].moved_resources[2].c: 'c' has to be A-Z, 0-9 and _ only"
    ),
    '- {from_resource_provider: a, to_resource_provider: b, moved_resources: [VGPU]}': (
        'spec:1: [0].moved_resources[0]: plain text, and has to be KEY: VALUE'
    ),
    '- {from_resource_provider: a, to_resource_provider: b, moved_resources: {A: 1}, as: {B: C}}': (
        'spec:1: [0].as.B: B is not in moved_resources'
    ),
    '- {from_resource_provider: a, to_resource_provider: b, moved_resources: {A: 1, B: 1},'
    f' consumers: {{{A}: 1}}}}': (
        f'spec:1: [0].consumers.{A}: has to state the amount of each class: A, B'
    ),
}


@pytest.mark.parametrize(('text', 'message'), BAD_SPECS.items())
def test_a_wrong_specification_is_an_error_with_its_place(text, message):
    with pytest.raises(errors.BadFile) as error:
        specifications.parse_specification(text, 'spec')
    assert str(error.value) == message


def _written(spec):
    return convert_to_json(spec.record)


def test_short_and_long_forms_are_equal():
    short = specifications.parse_specification(f'- {MOVE}', 'spec')
    assert short == specifications.parse_specification(f'moves: [{MOVE}]', 'spec')
    assert short == specifications.convert_specification(_written(short), 'plan')


def test_resources_may_be_a_list():
    move = 'from_resource_provider: a, to_resource_provider: b, moved_resources'
    listed = specifications.parse_specification(f'- {{{move}: [VGPU: 4,\n VCPU: all]}}', 'spec')
    assert listed == specifications.parse_specification(
        f'- {{{move}: {{VGPU: 4, VCPU: all}}}}', 'spec'
    )
    fault = listed.make_error('is wrong', 'moves', 0, 'moved_resources', 'VCPU')
    assert str(fault) == 'spec:2: [0].moved_resources[1].VCPU: is wrong'
    for nothing in ('[]', 'null', '', '{}'):
        empty = specifications.parse_specification(f'- {{{move}: {nothing}}}', 'spec')
        assert empty.moves[0].resources == {}
        assert empty == specifications.convert_specification(_written(empty), 'plan')


@pytest.mark.parametrize('text', ['[]', 'moves: []', 'moves:', 'trees: {name: [a]}', '{}'])
def test_a_specification_may_move_nothing(text):
    spec = specifications.parse_specification(text, 'spec')
    assert spec.moves == ()
    assert spec == specifications.convert_specification(_written(spec), 'plan')


def test_all_keys_of_the_long_form_are_read():
    parsed = specifications.parse_specification(
        """
        trees: {name: ["compute-*"], uuid: [], trait: [], class: [VGPU]}
        providers:
          - name: "{root}_gpu"
            parent: "{root}"
            inventories: {VGPU: {total: 4, max_unit: 1}}
            traits: [OWNER_NOVA]
            aggregates: []
        moves:
          - from_resource_provider: "{root}"
            to_resource_provider: "{root}_gpu"
            moved_resources: {VGPU: all}
            as: {VGPU: PGPU}
            moved_traits: [HW_CPU_X86_AMD_SEV]
        together: [[VCPU, MEMORY_MB]]
        split: false
        assignments: [gpu-map.csv]
        """,
        'spec',
    )
    assert parsed.assignments == ('gpu-map.csv',)
    assert parsed.moves[0].resources == {'VGPU': 'all'}
    assert parsed.moves[0].name_at_target('VGPU') == 'PGPU'
    assert parsed == specifications.convert_specification(_written(parsed), 'plan')


HEADER = 'consumer_uuid,resource_class,amount,to_provider,evidence\n'
BAD_ROWS = {
    HEADER.replace(',', ';'): 'rows: has semicolons between its fields: save it with commas',
    HEADER.replace(',', '\t'): 'rows: has tabs between its fields: save it with commas',
    'consumer,resource_class\n': (
        'rows:1: consumer: unknown key. Did you mean "consumer_uuid"?; '
        'rows:1: amount and to_provider are missing'
    ),
    'consumer_uuid,resource_class\n': 'rows:1: amount and to_provider are missing',
    HEADER + f'{A},,1,gpu0,\n': 'rows:2: resource_class is empty',
    HEADER + f'{A},VGPU,one,gpu0,\n': 'rows:2: amount: has to be an integer',
    HEADER + f'{A},VGPU,1,gpu0,\n# x\n\n{A},VGPU,2,gpu0,\n': (
        f'rows:5: the same row as line 2: {A}, VGPU, gpu0'
    ),
    f'- consumer_uuid: {A}\n  resource_clas: VGPU\n': (
        'rows:2: [0].resource_clas: unknown key. Did you mean "resource_class"?'
    ),
    HEADER + f'{A},VGPU\n{A},"VG': (
        'rows:2: 2 fields, the header has 5; rows:3: unexpected end of data. If the last line is '
        'cut off, copy the file again'
    ),
    HEADER + f'{A},VGPU\n{A},VGPU': (
        'rows:2: 2 fields, the header has 5; rows:3: 2 fields, the header has 5. If the last line '
        'is cut off, copy the file again'
    ),
    f'- consumer_uuid: {A}\n': 'rows:1: [0]: resource_class is missing',
    f'consumer_uuid: {A}\n': (
        'rows: a file of an unknown kind; expected: a file of assignments. To write the undecided '
        'rows: placement resource provider reshape plan --spec FILE -o PLAN '
        '--write-assignments FILE'
    ),
}


@pytest.mark.parametrize(('text', 'message'), BAD_ROWS.items())
def test_wrong_assignments_are_an_error_with_their_line(text, message):
    with pytest.raises(errors.BadFile) as error:
        assignments.parse_assignments(text, 'rows')
    assert str(error.value) == message


def test_all_errors_of_assignments_are_told_at_once():
    text = f'consumer_uuid,resource_class,amount,to_provider\nx,vgpu,0,b\n{A},VGPU\n{A},VGPU,1,b\n'
    with pytest.raises(errors.BadFile) as error:
        assignments.parse_assignments(text + f'{A},VGPU,1,b\n', 'rows.csv')
    assert [str(fault) for fault in error.value.faults] == [
        "rows.csv:2: consumer_uuid: 'x' has to be a UUID",
        "rows.csv:2: resource_class: 'vgpu' has to be A-Z, 0-9 and _ only",
        'rows.csv:2: amount: has to be from 1 to 2147483647',
        'rows.csv:3: 2 fields, the header has 4',
        f'rows.csv:5: the same row as line 4: {A}, VGPU, b',
    ]


def test_all_errors_of_a_document_are_told_at_once():
    text = (
        f'- consumer_uuid: {A}\n  resource_class: vgpu\n  to_provider: b\n- resource_clas: VGPU\n'
    )
    with pytest.raises(errors.BadFile) as error:
        assignments.parse_assignments(text, 'rows')
    assert [fault.line for fault in error.value.faults] == [2, 4, 4]


def test_assignments_are_read_alike_from_every_format():
    comma = HEADER + f'{A},VGPU,,gpu0,"mdev, read"\n'
    json = (
        f'[{{"consumer_uuid": "{A}", "resource_class": "VGPU", "amount": null,'
        ' "to_provider": "gpu0", "evidence": "mdev, read"}]'
    )
    row = AssignmentRow(A, 'VGPU', None, 'gpu0', 'mdev, read', 'rows', 2)
    assert assignments.parse_assignments(comma, 'rows') == [row]
    assert assignments.parse_assignments('\ufeff' + comma.replace('\n', '\r\n'), 'rows') == [row]
    (from_json,) = assignments.parse_assignments(json, 'rows')
    assert from_json == replace(row, line=1)
    with pytest.raises(errors.BadFile, match='is empty'):
        assignments.parse_assignments('', 'rows')
    assert assignments.parse_assignments(HEADER, 'rows') == []


@pytest.mark.parametrize('control', list('\r\x0b\x0c\x1c\x85\u2028'), ids=ascii)
def test_no_character_but_a_line_feed_begins_a_row(control):
    text = f'{HEADER}# note{control}{A},VGPU,1,other,\n{A},VGPU,1,b,\n'
    (row,) = assignments.parse_assignments(text, 'rows')
    assert (row.to_provider, row.line) == ('b', 3)


@pytest.mark.parametrize('end', ['\n', '\r', '\r\n'], ids=ascii)
def test_no_name_in_a_comment_begins_a_row(end):
    hostile = f'gpu0{end}{A},VGPU,1,other,'
    undecided = SimpleNamespace(
        consumer_uuid=A, resource_class='VGPU', amount=1, choices=['b', hostile], classes=[hostile]
    )
    text = assignments.format_skeleton([undecided])
    assert assignments.parse_assignments(text, 'rows') == []
