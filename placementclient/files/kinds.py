# SPDX-License-Identifier: Apache-2.0
"""The kinds of files: what each looks like, what takes it, and how to get one."""

import re

import msgspec

from placementclient.basis.errors import FileKind, WrongFile
from placementclient.model.listed import ListRecord

#: What is wrong with a file that is none of the kinds below.
UNKNOWN = 'a file of an unknown kind'
_OURS = 'placement resource provider'
_MAKE = f'make one: {_OURS}'
_PRINTED = 'add -f json to the command that printed it'

# Files of this package that name their format.
SNAPSHOT = FileKind(
    'a snapshot', '--snapshot takes it', f'{_MAKE} snapshot save FILE', 'placementclient/snapshot'
)
PLAN = FileKind(
    'a plan',
    f'"{_OURS} reshape show FILE" shows it',
    f'{_MAKE} reshape plan --spec FILE -o PLAN',
    'placementclient/plan',
)
DRAIN_PLAN = FileKind(
    'a plan of a drain',
    '--drain takes it',
    f'{_MAKE} drain plan HOST -o FILE',
    'placementclient/drain-plan',
)
_FORMATS = {kind.format: kind for kind in (SNAPSHOT, PLAN, DRAIN_PLAN)}
# Files that people and other programs write.
SPECIFICATION = FileKind(
    'a specification of a reshape',
    '--spec takes it',
    f'see an example: {_OURS} reshape demo --keep FOLDER',
)
ASSIGNMENTS = FileKind(
    'a file of assignments',
    '--assignments takes it',
    f'write the undecided rows: {_OURS} reshape plan --spec FILE -o PLAN --write-assignments FILE',
)
TREES = FileKind(
    'a tree of providers', f'"{_OURS} tree apply FILE" takes it', f'{_MAKE} tree export -o FILE'
)
NOVA_PROVIDERS = FileKind(
    'a provider configuration file of Nova', f'"{_OURS} tree apply FILE" takes it'
)
CONFIGURATION = FileKind(
    'a configuration file such as nova.conf', '--nova-conf takes it', may_be_empty=True
)
DEVICES = FileKind("Nova's table pci_devices", '--devices takes it')
HOST_CELLS = FileKind(
    'a table of hosts and cells', '--cells takes it', 'make one: nova-manage cell_v2 list_hosts'
)
HOST_FACTS = FileKind(
    'a folder or a tar archive that the collector wrote',
    source=f'print the collector: {_OURS} reshape collector',
)
TAR = FileKind('a tar archive', '--host-facts takes it')
ASSUMPTIONS = FileKind(
    'a list of assumptions',
    '"placement resource capacity show --assume FILE" takes it',
    """write one: echo '[{"without":["HOST"]}]' > FILE""",
)
BODY = FileKind('the body of a request to Placement')
COMMANDS = FileKind('commands, one on each line')
DEVICE_SPECS = FileKind('a nova.conf, or its device_spec')
IMAGE = FileKind('the answer to GET /v2/images/ID')
REQUESTS = FileKind('lists of servers, migrations and server groups')
UUIDS = FileKind('UUIDs of consumers', may_be_empty=True)
#: Output of OpenStackClient for people and for shells.
TABLE, CSV, ROWS = (FileKind(name, _PRINTED) for name in ('a table', 'CSV', 'rows of a table'))


def _make_list_kind(key: str, source: str = '') -> FileKind:
    """Return the kind of a list, by its name in the API, and with the command that prints it."""
    name = key.replace('_', ' ')
    option = name.removeprefix('registered ').replace(' ', '-')
    return FileKind(f'a list of {name}', f'--{option} takes it', source and f'make one: {source}')


LISTS = {
    key: _make_list_kind(key)
    for key in (
        *('servers', 'flavors', 'migrations', 'hypervisors', 'services', 'ports', 'images'),
        *('aggregates', 'agents', 'subnets', 'nodes', 'projects', 'users', 'device_profiles'),
        'registered_limits',
    )
}
#: The beginnings of files behind blanks and comments. The first that fits counts.
_LOOKS = {
    r'SQLite format 3\0': FileKind(
        'a SQLite database', '"--os-placement-database sqlite:////folder/file" takes it'
    ),
    r'(?s:.{257})ustar': TAR,
    r'PK\x03\x04': FileKind('a ZIP archive', 'unzip unpacks it'),
    r'\xfd7zXZ\0|BZh[1-9]1AY|\(\xb5/\xfd': FileKind('a compressed file', 'unpack it first'),
    r'\+-+': TABLE,
    '[0-9a-fA-F-]{32,36} ': ROWS,
    r'"?consumer_uuid"?[,;\t]': ASSIGNMENTS,
    r'"?hypervisor_hostname"?[,\t]': DEVICES,
    r'"[^"\n]*"(,"[^"\n]*")+\s*$': CSV,
    r'\[[A-Za-z_]+\]\s*\n(?s:.*^)\w+ *=': CONFIGURATION,
    r'\{?\s*"?meta"?:\s*\{?\s*"?schema_version': NOVA_PROVIDERS,
    r'(?s:.*\W)?from_resource_provider"?\s*:|(?s:.*^)[{\s]*"?moves"?\s*:': SPECIFICATION,
    r'[{\s]*"?(trees|additions)"?\s*:': SPECIFICATION,
    r'[\[{\s-]*"?name"?\s*:(?s:.*\W)inventories"?\s*:': TREES,
    r'[\[-][\s{-]*("?name.*[,\n]\s*)?"?(add|like|match|with\w+|servers|plan)"?\s*:': ASSUMPTIONS,
    **{rf'\{{?\s*"?{key}"?\s*:': kind for key, kind in LISTS.items()},
    # A migration has an "Old Flavor".
    r'(\[\s*\{|-)(?s:.*)("|^[\s-]*)Flavor"?\s*:': LISTS['servers'],
    r'(\[\s*\{|-)(?s:.*)["\s](Source Node|source_node)"?\s*:': LISTS['migrations'],
    r'(\[\s*\{|-)(?s:.*)["\s]Hypervisor Hostname"?\s*:': LISTS['hypervisors'],
}
_COMMENTS = re.compile(r'\A(\s|\xef\xbb\xbf|#.*|---$)+', re.MULTILINE)
#: How many bytes of a file show its kind.
LOOKED_AT = 4096


def get_list_kind(record: type[ListRecord]) -> FileKind:
    """Return the kind of the files with a list of such records."""
    return _make_list_kind(record.key, record.source)


def recognize_kind(content: bytes) -> FileKind | None:
    """Return the kind that the content of a file begins like; ``None``: no known kind."""
    start = content[:LOOKED_AT].decode('latin-1')
    for name, kind in _FORMATS.items():
        if f'"{name}"' in start[:100]:
            return kind
    start = _COMMENTS.sub('', start)
    looks = (kind for look, kind in _LOOKS.items() if re.match(look, start, re.MULTILINE))
    return next(looks, None)


def refuse_other_kind(content: bytes, path: str, needed: FileKind, *others: FileKind) -> None:
    """Raise an error if a file is empty, or looks like a kind that is neither needed nor allowed.

    :param needed: the kind that the error names
    :param others: further kinds that are allowed
    """
    kind = recognize_kind(content)
    allowed = {kind.name for kind in (needed, *others)}
    if kind and kind.name not in allowed and allowed.isdisjoint(_find_kinds_of_lists(content)):
        raise WrongFile(path, kind.name, needed, taken=kind.taken)
    if not needed.may_be_empty and (lack := explain_missing_content(content)):
        raise WrongFile(path, lack, needed)


def _find_kinds_of_lists(content: bytes) -> set[str]:
    """Return the name of the kind of each list in a JSON object of lists; else none."""
    try:
        document = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return set()
    return {_make_list_kind(key).name for key in document}


def explain_missing_content(content: bytes) -> str:
    """Return ``is empty`` or ``has comments only`` for a text without content; else nothing."""
    if re.search(rb'^[ \t]*[^#\s]', content, re.MULTILINE):
        return ''
    return 'has comments only' if content.strip() else 'is empty'
