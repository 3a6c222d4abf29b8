# SPDX-License-Identifier: Apache-2.0
"""Resource providers: what each command sends and prints."""

from typing import Any

import pytest

from tests.unit.dialogue import (
    AGG,
    AGG2,
    CONSUMER,
    ROOT,
    RP,
    RP2,
    Case,
    Reply,
    delete,
    fault,
    get,
    post,
    provider,
    put,
    searched,
    unacceptable,
    version_document,
)

PATH = f'/resource_providers/{RP}'
CHILD = provider(RP, 'numa0', 7, ROOT, ROOT)
FIELDS = f'{RP}\nnuma0\n7\n{ROOT}\n{ROOT}\n'
NOTHING = 'No resource provider matches\n'
OTHER_HOST = provider(RP, 'compute8', 1, None, RP)
OTHER = provider(RP2, 'compute1')
DEPRECATED = 'The --aggregate-uuid option is deprecated, please use --member-of instead.\n'
NONE: dict[str, Any] = {'resource_providers': []}
TAKEN = post(
    '/resource_providers',
    {'name': 'numa0'},
    fault(409, 'Name is taken', 'placement.duplicate_name'),
)
ALLOCATED = {'allocations': {CONSUMER: {'resources': {'VCPU': 2}, 'consumer_generation': 1}}}
ALLOCATED |= {'resource_provider_generation': 7}


LIST = {
    'a name that a spreadsheet would run is text in csv': Case(
        'resource provider list -f csv -c name --quote none',
        [get('/resource_providers', {'resource_providers': [provider(RP, '=HYPERLINK(1)')]})],
        "name\n'=HYPERLINK(1)\n",
    ),
    'the columns are those of the version that the service has': Case(
        'resource provider list -f value',
        [
            unacceptable(get('/resource_providers')),
            version_document('1.13'),
            get('/resource_providers', {'resource_providers': [CHILD]}, version='1.13'),
        ],
        f'{RP} numa0 7\n',
    ),
    'every condition is sent': Case(
        f'resource provider list --name n --uuid {RP} --resource VCPU=2 --resource DISK_GB=5 '
        f'--required A --required B,C --forbidden D --member-of {AGG},{AGG2} --member-of {AGG} '
        f'--forbidden-member-of {AGG2} --in-tree {RP2}',
        [
            get(
                f'/resource_providers?name=n&uuid={RP}&resources=VCPU:2,DISK_GB:5'
                f'&required=A,!D&required=in:B,C&member_of=in:{AGG},{AGG2}&member_of={AGG}'
                f'&member_of=!{AGG2}&in_tree={RP2}',
                NONE,
            )
        ],
        '\n',
        NOTHING,
    ),
    'a tree is found by the name of any of its providers': Case(
        'resource provider list --in-tree compute1 -f value',
        [searched(), get(f'/resource_providers?in_tree={RP}', NONE)],
        stderr=NOTHING,
    ),
    'a pattern is one for names': Case(
        "resource provider list --name 'comp*1' -f value -c name",
        [get('/resource_providers', {'resource_providers': [CHILD, OTHER]})],
        'compute1\n',
    ),
    'with --roots each match has its root in its place, once': Case(
        'resource provider list --required HW_GPU --roots -f value -c uuid -c name',
        [
            get(
                '/resource_providers?required=HW_GPU',
                {
                    'resource_providers': [
                        provider(RP2, 'gpu0', 1, ROOT, ROOT),
                        OTHER_HOST,
                        provider(AGG, 'gpu1', 1, ROOT, ROOT),
                    ]
                },
            ),
            get(f'/resource_providers/{ROOT}', provider(ROOT, 'compute7')),
        ],
        f'{ROOT} compute7\n{RP} compute8\n',
    ),
    'resources may be written as the service has them': Case(
        'resource provider list --resource VCPU:2,DISK_GB=5 --resource VGPU:1',
        [get('/resource_providers?resources=VCPU:2,DISK_GB:5,VGPU:1', NONE)],
        '\n',
        NOTHING,
    ),
    'the former spelling of --member-of is taken, with a notice': Case(
        f'resource provider list --aggregate-uuid {AGG} --aggregate-uuid {AGG2}',
        [get(f'/resource_providers?member_of=in:{AGG},{AGG2}', NONE)],
        '\n',
        DEPRECATED + NOTHING,
    ),
    'both spellings of it are one too many': Case(
        f'resource provider list --aggregate-uuid {AGG} --member-of {AGG}',
        stderr=f'{DEPRECATED}--member-of and --aggregate-uuid contradict each other\n',
        status=2,
    ),
    'an amount that no database takes is not sent': Case(
        'resource provider list --resource VCPU=9223372036854775808',
        stderr='VCPU=9223372036854775808: no service takes more than 9223372036854775807\n',
        status=1,
    ),
}

CREATE = {
    'a child is created below the parent of a name, with a UUID': Case(
        f'resource provider create numa0 --parent-provider host --uuid {RP} -f value -c uuid',
        [
            searched('host', ROOT),
            post(
                '/resource_providers',
                {'name': 'numa0', 'uuid': RP, 'parent_provider_uuid': ROOT},
                CHILD,
            ),
        ],
        f'{RP}\n',
    ),
    'below 1.20 it is read after it was created': Case(
        'resource provider create numa0 -f value',
        [
            post('/resource_providers', {'name': 'numa0'}, Reply(201, headers={'Location': PATH})),
            get(PATH, CHILD),
        ],
        f'{RP}\nnuma0\n7\n',
        version='1.13',
    ),
    'with --or-show the one of that name is shown': Case(
        'resource provider create numa0 --or-show -f value',
        [TAKEN, get('/resource_providers?name=numa0', {'resource_providers': [CHILD]})],
        FIELDS,
    ),
    'with --or-show it is an error if only the UUID is taken': Case(
        'resource provider create numa0 --or-show',
        [TAKEN, get('/resource_providers?name=numa0', NONE)],
        stderr='Name is taken (HTTP 409) [placement.duplicate_name, req-1]\n',
        status=1,
    ),
    'a parent that does not exist is told before anything is created': Case(
        'resource provider create numa0 --parent-provider host',
        [get('/resource_providers?name=host', NONE), get('/resource_providers', NONE)],
        stderr="No resource provider has the name 'host'\n",
        status=1,
    ),
}

SHOW_CASES = {
    'a name costs one': Case(
        'resource provider show compute1 -f value', [searched(), get(PATH, CHILD)], FIELDS
    ),
}

SET = {
    'a new parent alone keeps the name': Case(
        'resource provider set compute1 --parent-provider host -f value',
        [
            searched(),
            get(PATH, CHILD),
            searched('host', ROOT),
            put(PATH, {'name': 'numa0', 'parent_provider_uuid': ROOT}, CHILD),
        ],
        FIELDS,
    ),
    'without a parent it becomes a root': Case(
        f'resource provider set {RP} --name numa0 --no-parent -f value -c name',
        [put(PATH, {'name': 'numa0', 'parent_provider_uuid': None}, provider(RP, 'numa0'))],
        'numa0\n',
    ),
}

DELETE = {
    'one in use stays': Case(
        f'resource provider delete {RP}',
        [delete(PATH, fault(409, 'Allocations exist', 'placement.resource_provider.inuse'))],
        stderr='Allocations exist (HTTP 409) [placement.resource_provider.inuse, req-1]\n'
        'Next:\n'
        '  1. If the host is alive, migrate its servers: placement resource provider drain plan '
        f'{RP}\n'
        '  2. If it is dead, evacuate each of them: openstack server evacuate SERVER\n'
        '  3. See the allocations that are left: placement resource '
        f'provider purge {RP} --dry-run\n',
        status=1,
    ),
}

CASES = LIST | CREATE | SHOW_CASES | SET | DELETE


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_provider_commands_send_and_print(play, case):
    play(case)


def test_a_part_of_a_name_is_answered_with_a_pattern_on_a_terminal(placement, service, monkeypatch):
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    for name, providers, told in (
        ('comp', [OTHER], ". comp is the whole name; names that begin with it: --name 'comp*'"),
        ('other', [OTHER], ''),
    ):
        service.answer(
            get(f'/resource_providers?name={name}', NONE),
            get('/resource_providers', {'resource_providers': providers}),
        )
        result = placement(f'resource provider list --name {name}')
        message = ' '.join(result.stderr.split())
        assert (result.status, message) == (0, f'{NOTHING.rstrip()}{told}')


def test_create_does_not_claim_a_provider_of_another_client(placement, service, monkeypatch):
    """The answer is lost, and there is another provider of that name."""
    monkeypatch.setattr('time.sleep', lambda _: None)
    other = {'uuid': '11111111-1111-4111-8111-111111111111', 'name': 'spare', 'generation': 1}
    taken = {'errors': [{'status': 409, 'title': 'Conflict', 'detail': 'Name taken: spare'}]}
    service.answer(Reply(500), Reply(200, {'resource_providers': [other]}), Reply(409, taken))
    uuid = '22222222-2222-4222-8222-222222222222'
    result = placement('resource', 'provider', 'create', 'spare', '--uuid', uuid)
    first, _, again = service.requests
    assert (result.status, again) == (1, first)
    assert 'Name taken: spare' in result.stderr


LEAF = provider(RP, 'leaf', 7, ROOT, ROOT)
WRITTEN = {'name': 'new'}


@pytest.mark.parametrize(
    ('live', 'sent_again', 'status', 'stderr'),
    [
        (LEAF, True, 0, ''),
        (LEAF | WRITTEN, False, 0, ''),
        (
            LEAF | {'name': 'other'},
            False,
            1,
            "Another client has changed the provider: its name is 'other', its parent "
            f'{ROOT}\nBefore this error: whether PUT {PATH} was done is not known\n',
        ),
        (
            LEAF | {'parent_provider_uuid': RP2},
            False,
            1,
            "Another client has changed the provider: its name is 'leaf', its parent "
            f'{RP2}\nBefore this error: whether PUT {PATH} was done is not known\n',
        ),
    ],
    ids=['it was not carried out', 'it was carried out', 'others have renamed it', 'or moved it'],
)
def test_set_reads_the_provider_after_a_lost_answer(
    placement, service, live, sent_again, status, stderr
):
    """No generation guards the name and the parent."""
    write, look = put(PATH, WRITTEN, LEAF | WRITTEN), get(PATH, live)
    searched = get('/resource_providers?name=leaf', {'resource_providers': [LEAF]})
    lost = put(PATH, WRITTEN, Reply(500))
    last = write if sent_again else look
    exchanges = [searched, lost, look, *([] if status else [last])]
    service.answer(*exchanges)
    result = placement('resource provider set leaf --name new -f value -c name', version='1')
    assert service.requests == Case('', exchanges).requests()
    assert (result.status, result.stdout, result.stderr) == (
        status,
        '' if status else 'new\n',
        stderr,
    )
