# SPDX-License-Identifier: Apache-2.0
"""Resource providers."""

import re
from typing import Any

import msgspec

from placementclient.basis import errors
from placementclient.basis.strict_json import Integer

#: The trait of a provider whose inventory others use through a common aggregate.
SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'

#: The longest name that Placement stores, in characters.
LONGEST_NAME = 200

#: Keystone's, which need not be UUIDs.
_OPAQUE = ('project_id', 'user_id')
_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)
_BARE_UUID = re.compile(
    '([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})', re.IGNORECASE
)


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID, with or without hyphens."""
    return is_hyphenated_uuid(text) or _BARE_UUID.fullmatch(text) is not None


def is_hyphenated_uuid(text: str) -> bool:
    """Return whether a text is a UUID in Placement's form, with hyphens.

    Without them it may be the name of a provider, or the ID of a project.
    """
    return _UUID.fullmatch(text) is not None


def normalize_uuid(text: str) -> str:
    """Return a UUID in small letters with hyphens, as the service writes it; other text unchanged.

    PostgreSQL and SQLite distinguish capitals from small letters: ``…AF`` would be another one.
    """
    bare = _BARE_UUID.fullmatch(text)
    return lower_uuid('-'.join(bare.groups()) if bare else text)


def lower_uuid(text: str) -> str:
    """Return a UUID with hyphens in small letters; any other text unchanged."""
    return text.lower() if is_hyphenated_uuid(text) else text


def normalize_uuids_in(document: Any) -> Any:
    """Return the body of a request with its UUIDs in small letters, in keys and values.

    :raises errors.BadArgument: if two keys are the same then
    """
    if isinstance(document, str):
        return lower_uuid(document)
    if isinstance(document, list):
        return [normalize_uuids_in(element) for element in document]
    if not isinstance(document, dict):
        return document
    normal = {
        lower_uuid(str(key)): value if key in _OPAQUE else normalize_uuids_in(value)
        for key, value in document.items()
    }
    if len(normal) < len(document):
        raise errors.BadArgument('A UUID appears twice, in upper and in lower case')
    return normal


def make_temporary_name(name: str, uuid: str) -> str:
    """Return a name to move a provider aside: its old name, cut if it is too long, and its UUID."""
    suffix = f' ({uuid})'
    return name[: LONGEST_NAME - len(suffix)] + suffix


def restore_name(name: str, uuid: str) -> str:
    """Return the name that :func:`make_temporary_name` was given, without what it has cut off."""
    return name.removesuffix(f' ({uuid})')


class Provider(msgspec.Struct, frozen=True, gc=False):
    """A resource provider.

    :param parent_provider_uuid: ``None`` for a root, and below microversion 1.14
    :param root_provider_uuid: its own UUID for a root; ``None`` below microversion 1.14
    """

    uuid: str
    name: str
    generation: Integer
    parent_provider_uuid: str | None = None
    root_provider_uuid: str | None = None

    @property
    def root_uuid(self) -> str:
        """The root of its tree; below microversion 1.14 each provider is a root."""
        return self.root_provider_uuid or self.uuid
