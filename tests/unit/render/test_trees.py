# SPDX-License-Identifier: Apache-2.0
"""Trees as text and as pictures."""

import re
import xml.etree.ElementTree as ElementTree

import msgspec
import pytest

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.plans import Change
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.trees import Tree
from placementclient.render import graphs, pictures, trees
from placementclient.render.style import Style

SVG = '{http://www.w3.org/2000/svg}'


def state(name, parent=None, root='root', **used):
    return ProviderState(
        Provider(f'uuid of {name}', name, 0, parent and f'uuid of {parent}', f'uuid of {root}'),
        {key: Inventory(10, reserved=2, allocation_ratio=1.5) for key in used},
        usages=used,
    )


def tree(*states, sharing=()):
    snapshot = Snapshot(states, [])
    return Tree(snapshot, snapshot.roots()[0], sharing)


def of_trees(trees):
    return graphs.make_tree_picture(trees, [], traits=False, allocations=False)


def of_plan(trees, *, allocations=False):
    return graphs.make_plan_picture(trees, traits=False, allocations=allocations)


def svg(trees):
    return ElementTree.fromstring(pictures.draw_svg(of_trees(trees)))


WHOLE = tree(
    state('root', VCPU=11, MEMORY_MB=3),
    state('b', 'root', VGPU=12),
    state('a', 'root'),
    state('under a', 'a', PCPU=0),
    sharing=(state('storage', root='storage', DISK_GB=4),),
)


def test_plain_text_has_a_line_for_each_provider():
    assert list(trees.format_tree(WHOLE)) == [
        'root  MEMORY_MB 3/12 (2 reserved, ratio 1.5)  VCPU 11/12 (2 reserved, ratio 1.5)',
        '├─ a',
        '│  └─ under a  PCPU 0/12 (2 reserved, ratio 1.5)',
        '└─ b  VGPU 12/12 (2 reserved, ratio 1.5)',
        '⇠ storage  DISK_GB 4/12 (2 reserved, ratio 1.5)  (shared)',
    ]


def test_with_bars_each_class_has_a_line():
    lines = list(trees.format_tree(WHOLE, Style(bars=True)))
    assert lines[:3] == [
        'root',
        '│  MEMORY_MB ▕███         ▏ 3 MiB/12 MiB  2 MiB reserved, ratio 1.5',
        '│  VCPU      ▕███████████ ▏        11/12  2 reserved, ratio 1.5',
    ]
    assert lines[-2:] == [
        '⇠ storage  (shared)',
        '   DISK_GB ▕████        ▏ 4 GiB/12 GiB  2 GiB reserved, ratio 1.5',
    ]


def test_a_style_with_colours_adds_only_colours_to_the_text():
    plain = list(trees.format_tree(WHOLE, Style(bars=True)))
    coloured = [
        re.sub(r'\x1b\[\d+m', '', line)
        for line in trees.format_tree(WHOLE, Style(bars=True, colours=True))
    ]
    assert coloured == plain


@pytest.mark.parametrize('name', ['a"b', 'a<b>&c', 'a\\b', '#1;'])
def test_names_are_escaped_in_pictures(name):
    odd = [tree(state(name, root=name, VCPU=1))]
    drawn = svg(odd)
    assert name in {text.text for text in drawn.iter(f'{SVG}text')}
    label = re.search(r'label="((?:[^"\\]|\\.)*)"', graphs.draw_dot(of_trees(odd)))
    assert label is not None
    assert label[1].startswith(name.replace('\\', '\\\\').replace('"', '\\"'))


def cards_of(drawn):
    """The left, upper, right and lower edge of each card of a picture."""
    edges = []
    for group in drawn.iter(f'{SVG}g'):
        x, y = map(float, re.findall(r'[\d.]+', group.attrib['transform']))
        card = group.find(f'{SVG}rect')
        assert card is not None
        edges.append((x, y, x + float(card.attrib['width']), y + float(card.attrib['height'])))
    return edges


def test_cards_do_not_overlap():
    many = [
        tree(
            *[state(f'root{n}', root=f'root{n}', VCPU=1, MEMORY_MB=2)],
            *[state(f'child{n}.{m}', f'root{n}', f'root{n}', VGPU=m) for m in range(n)],
            sharing=(state('storage', root='storage', DISK_GB=4),),
        )
        for n in range(5)
    ]
    drawn = svg(many)
    boxes = cards_of(drawn)
    assert len(boxes) == 5 + 10 + 1
    for number, one in enumerate(boxes):
        assert one[2] <= float(drawn.attrib['width'])
        assert one[3] <= float(drawn.attrib['height'])
        for other in boxes[:number]:
            beside = one[2] <= other[0] or other[2] <= one[0]
            assert beside or one[3] <= other[1] or other[3] <= one[1]


def test_a_sharing_provider_has_a_line_to_each_tree_that_it_serves():
    pool = state('pool', root='pool', DISK_GB=4)
    many = [tree(state(f'root{n}', root=f'root{n}', VCPU=1), sharing=(pool,)) for n in range(3)]
    drawn = svg(many)
    cards = cards_of(drawn)
    *lines, _ = [path for path in drawn.iter(f'{SVG}path') if path.get('class') == 'share']
    ends = {tuple(map(float, line.attrib['d'].split()[-1].split(','))) for line in lines}
    assert ends == {(left, (top + bottom) / 2) for left, top, _, bottom in cards[:3]}


def test_a_sharing_provider_among_the_trees_is_drawn_with_all_that_it_has():
    pool = state('pool', 'storage', 'storage', DISK_GB=4)
    pool = msgspec.structs.replace(pool, traits=frozenset(['CUSTOM_SSD']))
    both = [tree(state('root'), sharing=[pool]), tree(state('storage', root='storage'), pool)]
    drawn = graphs.draw_dot(graphs.make_tree_picture(both, [], traits=True, allocations=False))
    assert [line.strip() for line in drawn.splitlines()[5:-1]] == [
        '"uuid of root" [label="root"];',
        '"uuid of storage" [label="storage"];',
        '"uuid of pool" [label="pool\\nDISK_GB 4 GiB/12 GiB\\nCUSTOM_SSD"];',
        '"uuid of storage" -> "uuid of pool";',
        '"uuid of pool" -> "uuid of root" [style=dashed, label="shares"];',
    ]


def test_a_legend_says_what_lines_and_colours_mean():
    shared = [text.text for text in svg([WHOLE]).iter(f'{SVG}text')]
    assert shared[-7:] == [
        'host', 'parent and child', 'shares its inventory with the host', 'below 70% used',
        '70% used or more', '90% used or more', 'Numbers: used/capacity',
    ]  # fmt: skip
    assert 'shares its' not in pictures.draw_svg(of_trees([tree(state('root', VCPU=1))]))


@pytest.mark.parametrize('depth', [0, 4])
def test_a_picture_of_many_trees_is_about_square(depth):
    """Every second one is so deep."""
    hosts = [
        tree(
            state(f'root{n}', root=f'root{n}', VCPU=1, MEMORY_MB=2),
            *(
                state(f'c{n}.{m}', f'c{n}.{m - 1}' if m else f'root{n}', f'root{n}', VGPU=m)
                for m in range(depth * (n % 2))
            ),
        )
        for n in range(30)
    ]
    drawn = svg(hosts)
    assert 0.5 < float(drawn.attrib['width']) / float(drawn.attrib['height']) < 2


@pytest.mark.slow
def test_a_tree_of_ten_thousand_children_is_drawn():
    wide = tree(state('root'), *(state(f'c{n}', 'root', VCPU=1) for n in range(10000)))
    assert sum(1 for _ in trees.format_tree(wide)) == 10001
    assert pictures.draw_svg(of_trees([wide])).count('<g ') == 10001


def test_a_picture_without_trees_is_empty():
    assert svg([]).tag == f'{SVG}svg'
    assert graphs.draw_dot(of_trees([])).endswith('}\n')


def planned():
    """A plan that moves VGPU to a new child, and one of two consumers with it."""
    root = state('root', VCPU=1, VGPU=2)
    child = state('gpu', 'root', VGPU=2)
    before = [Consumer('moves', {root.uuid: {'VGPU': 2}}), Consumer('stays', {})]
    after = [Consumer('moves', {child.uuid: {'VGPU': 2}}), Consumer('stays', {})]
    return Change(
        {root.uuid: 'root'},
        Snapshot([root], [*before, Consumer('same', {root.uuid: {'VCPU': 1}})]),
        Snapshot(
            [state('root', VCPU=1), msgspec.structs.replace(child, traits=frozenset(['CUSTOM_A']))],
            [*after, Consumer('same', {root.uuid: {'VCPU': 1}})],
        ),
    )


def test_a_picture_of_a_plan_shows_before_and_after_and_colors_the_changes():
    drawn = ElementTree.fromstring(pictures.draw_svg(of_plan([planned()] * 2, allocations=True)))
    texts = [(text.text, 'changed' in text.attrib['class']) for text in drawn.iter(f'{SVG}text')]
    assert texts[:2] == [('before', False), ('after', False)]
    before = [
        ('root', False), ('VCPU', False), ('1/12', False), ('VGPU', True), ('2/12', True),
        ('moves VGPU 2', True), ('same VCPU 1', False),
    ]  # fmt: skip
    after = [
        ('root', False), ('VCPU', False), ('1/12', False), ('same VCPU 1', False),
        ('gpu', True), ('VGPU', True), ('2/12', True), ('CUSTOM_A', True), ('moves VGPU 2', True),
    ]  # fmt: skip
    assert texts[2:34] == [*before, *after] * 2
    assert ('changed by the plan', False) in texts
    boxes = cards_of(drawn)
    # Two trees, one below the other; each after stands to the right of all before.
    assert boxes[0][2] < boxes[1][0] < boxes[1][2] < boxes[2][0]
    assert max(box[3] for box in boxes[:3]) < min(box[1] for box in boxes[3:])
    frames = [card for card in drawn.iter(f'{SVG}rect') if 'card' in card.get('class', '')]
    assert [frame.attrib['class'] for frame in frames[:3]] == [
        'card root',
        'card root',
        'card changed',
    ]
    assert float(drawn.attrib['width']) >= boxes[2][2]


def test_a_graph_of_a_plan_has_a_cluster_before_and_one_after_it():
    lines = [line.strip() for line in graphs.draw_dot(of_plan([planned()])).splitlines()[5:]]
    mark = f'<font color="{graphs.CHANGED}">'
    assert lines == [
        'subgraph "cluster uuid of root before " { label="root before";',
        '"uuid of root before uuid of root" '
        f'[label=<root<br/>VCPU 1/12<br/>{mark}VGPU 2/12</font>>];',
        '}',
        'subgraph "cluster uuid of root after " { label="root after";',
        '"uuid of root after uuid of root" [label="root\\nVCPU 1/12"];',
        f'"uuid of root after uuid of gpu" [label=<{mark}gpu</font><br/>{mark}VGPU 2/12</font><br/>'
        f'{mark}CUSTOM_A</font>>, color="{graphs.CHANGED}", penwidth=2];',
        '"uuid of root after uuid of root" -> "uuid of root after uuid of gpu";',
        '}',
        '"uuid of root before uuid of root" -> "uuid of root after uuid of root" [style=invis];',
        '}',
    ]


def test_a_picture_marks_a_class_whose_usage_another_consumer_changes():
    root = state('root', VCPU=1)
    more = msgspec.structs.replace(root, usages={'VCPU': 3})
    change = Change({root.uuid: 'root'}, Snapshot([root], []), Snapshot([more], []))
    sides = of_plan([change]).rows[0].sides
    assert [node.changed for side in sides for node in side] == [{'VCPU'}, {'VCPU'}]


def test_a_picture_of_a_plan_may_have_no_provider_before_or_after_it():
    new = Change({'uuid of root': 'root'}, Snapshot([], []), Snapshot([state('root', VCPU=0)], []))
    assert len(cards_of(ElementTree.fromstring(pictures.draw_svg(of_plan([new]))))) == 1
    assert 'invis' not in graphs.draw_dot(of_plan([new]))
