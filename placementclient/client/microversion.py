# SPDX-License-Identifier: Apache-2.0
"""Microversions of the Placement API: parse, order, negotiate."""

from __future__ import annotations

import re
from typing import NamedTuple

from placementclient.client import errors


class Microversion(NamedTuple):
    """A version of the Placement API, such as 1.14; microversions can be compared."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f'{self.major}.{self.minor}'

    @classmethod
    def parse(cls, text: str) -> Microversion:
        """Return the version that a text such as ``'1.14'`` names.

        :raises errors.UnsupportedVersion: if it names none
        """
        match = re.fullmatch(r'(\d{1,4})\.(\d{1,4})', text)
        if match is None:
            raise errors.UnsupportedVersion(f'{text!r} is not a Placement API version')
        return cls(int(match[1]), int(match[2]))


LOWEST = Microversion(1, 0)
HIGHEST = Microversion(1, 39)

#: The value of OS_PLACEMENT_API_VERSION that leaves the choice to the client.
NEGOTIATE = '1'
#: From here on a consumer has a generation, so that what was read can be held against the write,
#: and existing providers differ from missing ones.
GUARDS_CONSUMERS = Microversion(1, 28)
#: The first version that has the reshaper. Up to 1.37 a request keeps a consumer's type as it is
#: stored, set or not; from 1.38 on every consumer in a body must have one.
KEEPS_CONSUMER_TYPE = Microversion(1, 37)
#: From here on consumers have types.
TYPED = Microversion(1, 38)

_CHOSEN_BY = '--os-placement-api-version (OS_PLACEMENT_API_VERSION)'
#: The beginning of the error for a command as a whole. Scripts look for this sentence, which is
#: osc-placement's.
NO_SUBJECT = 'Operation or argument'
#: Everything that ``--os-placement-api-version`` accepts.
CHOICES = (NEGOTIATE, *(f'1.{minor}' for minor in range(HIGHEST.minor + 1)))


def parse_version_option(text: str) -> Microversion | None:
    """Return the version of ``--os-placement-api-version``; ``None`` leaves it to negotiation.

    :raises errors.UnsupportedVersion: if the client does not know the version
    """
    if text == NEGOTIATE:
        return None
    if text not in CHOICES:
        raise errors.UnsupportedVersion(
            f'Placement API version {text} is not known: leave out {_CHOSEN_BY} for the highest '
            f'that client and service both know, or give one of {LOWEST} to {HIGHEST}'
        )
    return Microversion.parse(text)


def choose_version(lowest: Microversion, highest: Microversion) -> Microversion:
    """Return the highest version that the client and a service both support.

    :raises errors.UnsupportedVersion: if there is none
    """
    best = min(HIGHEST, highest)
    if best < max(LOWEST, lowest):
        raise errors.UnsupportedVersion(
            f'The service supports microversions {lowest} to {highest}, '
            f'this client {LOWEST} to {HIGHEST}'
        )
    return best


def require_feature(
    version: Microversion,
    what: str,
    since: Microversion,
    until: Microversion | None = None,
    *,
    is_chosen: bool = False,
) -> None:
    """Raise an error if a microversion lacks a feature.

    :param what: an option, as the operator knows it; empty for the command as a whole
    :param since: the first version with the feature
    :param until: the last one, where a later version took the feature away
    :param is_chosen: whether the operator has chosen the microversion, as the error then says
    """
    step = ''
    if version < since:
        needed = f'at least version {since}'
        if is_chosen:
            step = f'Leave out {_CHOSEN_BY}, or give {since}'
    elif until is not None and version > until:
        needed = f'at most version {until}'
        step = f'Type --os-placement-api-version {until}'
    else:
        return
    sentence = f'{NO_SUBJECT} is not supported with version {version}; requires {needed}'
    unsupported = errors.UnsupportedVersion(f'{what}: {sentence}' if what else sentence)
    unsupported.next_steps = (step,) if step else ()
    raise unsupported
