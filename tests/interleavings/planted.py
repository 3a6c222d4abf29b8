# SPDX-License-Identifier: Apache-2.0
"""Defects that the enumeration has to find, planted in the product of this process."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple
from unittest import mock

from placementclient.api import inventory
from placementclient.changes import applier as appliers
from placementclient.changes.applier import Applier
from placementclient.changes.inspector import Inspector
from placementclient.changes.operations import SetInventories, SetTraits
from placementclient.client import errors

_require_position = Applier._require_position
_send_operation = Applier.__dict__['_send_operation']
_merge = Inspector._merge
_facet, _set_all, _body = appliers._WRITERS[SetInventories]


class Defect(NamedTuple):
    """A defect, and the command whose traces show it.

    :param name: of the attribute of the owner that the defect replaces
    """

    scenario: str
    owner: Any
    name: str
    replacement: Any

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        with mock.patch.object(self.owner, self.name, self.replacement):
            yield


def _look_before_a_rename_alone(applier, uuid, position, generation=None):
    if generation is None:
        _require_position(applier, uuid, position)


def _look_before_a_delete_alone(applier, uuid, position, generation=None):
    if generation is not None:
        _require_position(applier, uuid, position, generation)


def _write_at_the_latest_generation(client, uuid, fields, generation):
    return _set_all(client, uuid, fields, inventory.list(client, uuid).generation)


def _take_no_answer_for_done(applier, operation):
    with contextlib.suppress(errors.NoAnswer):
        _send_operation.__get__(applier)(operation)


def _forget_traits_on_the_way_back(inspector, change, live, backward):
    merged = _merge(inspector, change, live, backward)
    operations = tuple(op for op in merged.operations if not isinstance(op, SetTraits))
    return replace(merged, operations=operations) if backward else merged


_BLIND_WRITERS = {
    **appliers._WRITERS,
    SetInventories: (_facet, _write_at_the_latest_generation, _body),
}


DEFECTS = {
    'a DELETE without a look': Defect(
        'purge', Applier, '_require_position', _look_before_a_rename_alone
    ),
    'a rename without a look': Defect(
        'replace', Applier, '_require_position', _look_before_a_delete_alone
    ),
    'a generation read again just before the write': Defect(
        'edit', appliers, '_WRITERS', _BLIND_WRITERS
    ),
    'a lost answer taken for done': Defect(
        'tag', Applier, '_send_operation', _take_no_answer_for_done
    ),
    'a rollback that forgets traits': Defect(
        'apply the plan of declare', Inspector, '_merge', _forget_traits_on_the_way_back
    ),
}
