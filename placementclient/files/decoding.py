# SPDX-License-Identifier: Apache-2.0
"""Bytes to values; every fault is an :class:`errors.BadFile` with its position."""

import re
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from placementclient.basis import errors
from placementclient.basis.strict_json import InvalidJSON, locate_message, refuse_duplicate_keys

T = TypeVar('T')

#: How msgspec names the place of a fault in a text that is no JSON.
_BYTE = re.compile(r'\(byte (\d+)\)')


class Envelope(msgspec.Struct):
    """The fields that identify the kind of a file."""

    format: object = None
    version: object = None


#: The kinds by their formats.
_KINDS = {
    'placementclient/plan': 'plan',
    'placementclient/snapshot': 'snapshot',
}
#: The kinds by what their beginning has.
_MARKS = {b'SQLite format 3\0': 'database'} | {
    format.encode(): kind for format, kind in _KINDS.items()
}
#: The description of each kind, with what takes the file.
_DESCRIPTIONS = {
    'database': 'a SQLite database (--os-placement-database sqlite:////folder/file takes it)',
    'snapshot': 'a snapshot (--snapshot takes it)',
    'plan': 'a plan ("placement resource provider reshape show FILE" shows it)',
}
#: What the beginning of any other file looks like, and what takes the file.
_LOOKS = (
    (
        re.compile(rb'\bfrom_resource_provider\b|^["{\s]*(?:moves|sources)"?:', re.MULTILINE),
        'a specification ("placement resource provider reshape plan --spec FILE" makes a plan)',
    ),
    (re.compile(rb'\A\s*consumer_uuid,'), 'assignments (--assignments takes them)'),
    (
        re.compile(
            rb'\A\s*\{\s*"(servers|flavors|migrations|hypervisors|services|ports|images)"\s*:'
        ),
        'a list of {0} (--{0} takes it)',
    ),
    (re.compile(rb'\A\s*\[\s*\{[^}]*"Flavor"'), 'a list of servers (--servers takes it)'),
    (
        re.compile(rb'\A\s*\[\s*\{[^}]*"(Source Node|source_node)"'),
        'a list of migrations (--migrations takes it)',
    ),
    (
        re.compile(rb'\A\s*\[\s*\{[^}]*"Hypervisor Hostname"'),
        'a list of hypervisors (--hypervisors takes it)',
    ),
)
_LOOKED_AT = 4096
_ENVELOPE = msgspec.json.Decoder(Envelope | list | str | float | bool | None)


def describe_content(content: bytes) -> str:
    """Return the likely kind of a file, and what reads it: ``a plan (…)``; empty if unknown."""
    if kind := detect_kind(content):
        return _DESCRIPTIONS[kind]
    for pattern, description in _LOOKS:
        if match := pattern.search(content[:_LOOKED_AT]):
            return description.format(*(group.decode() for group in match.groups()))
    return ''


def detect_kind(content: bytes) -> str | None:
    """Return ``plan``, ``snapshot`` or ``database`` for such a file; else ``None``."""
    kinds = (kind for mark, kind in _MARKS.items() if mark in content[:100])
    return next(kinds, None)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A JSON file to decode; its errors have the path and the line.

    :param kind: the expected kind of file, such as ``snapshot``
    """

    path: str
    content: bytes
    kind: str

    def check_kind(self, *versions: int) -> None:
        """Raise an error unless the file has the expected kind and one of some versions."""
        if not self.content.strip():
            raise self.error('is empty')
        try:
            value = self.decode(_ENVELOPE)
        except errors.BadFile:
            if self.content.lstrip().startswith((b'{', b'[')):
                raise
            other = describe_content(self.content)
            reason = f', but {other}' if other else ': it is not JSON'
            raise self.error(f'not a {self.kind}{reason}') from None
        envelope = value if isinstance(value, Envelope) else Envelope()
        kind = _KINDS.get(str(envelope.format))
        if kind != self.kind:
            other = _DESCRIPTIONS[kind] if kind else describe_content(self.content)
            raise self.error(f'not a {self.kind}{other and f", but {other}"}')
        if envelope.version not in versions:
            raise self.error(f'{kind} version {envelope.version!r} is not known')

    def check_keys(self) -> None:
        """Raise an error if an object of the file has a key twice."""
        try:
            refuse_duplicate_keys(self.content)
        except InvalidJSON as fault:
            raise self.error(f'damaged {self.kind}: {fault}') from None
        except (ValueError, RecursionError):
            # The decoder refuses invalid JSON, with its line.
            return

    def decode(
        self, decoder: msgspec.json.Decoder[T], item: msgspec.Raw | None = None, name: str = ''
    ) -> T:
        """Return the file, or one item of it, as a typed value.

        :param name: the position of the item, for errors: ``trees[3]``
        """
        try:
            return decoder.decode(self.content if item is None else item)
        except RecursionError:
            raise self.error('nested too deeply', item) from None
        except UnicodeError:
            raise self.error('not UTF-8 text', item) from None
        except msgspec.ValidationError as reason:
            raise self.error(
                f'damaged {self.kind}: {locate_message(str(reason), name)}', item
            ) from None
        except msgspec.DecodeError as reason:
            byte = _BYTE.search(str(reason))
            offset = int(byte[1]) if byte else len(self.content if item is None else bytes(item))
            line = self._find_line(item, offset)
            raise errors.BadFile(self.path, 'damaged or not complete', line) from None

    def error(self, reason: str, item: msgspec.Raw | None = None) -> errors.BadFile:
        """Return the exception for a fault of the file, with the line of an item of it."""
        return errors.BadFile(self.path, reason, None if item is None else self._find_line(item, 0))

    def _find_line(self, item: msgspec.Raw | None, offset: int) -> int:
        # The position is searched only now; an earlier equal item would have been refused before.
        begin = 0 if item is None else self.content.find(bytes(item))
        return self.content.count(b'\n', 0, begin + offset) + 1
