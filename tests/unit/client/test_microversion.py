# SPDX-License-Identifier: Apache-2.0
"""Microversions: read, ordered, asked for and negotiated."""

import pytest

from placementclient.client import errors
from placementclient.client.microversion import (
    CHOICES,
    Microversion,
    choose_version,
    parse_version_option,
)


@pytest.mark.parametrize('text', ['', '1', '1.x', '1.2.3', '-1.2', '1.2\n', '1.12345'], ids=ascii)
def test_text_that_is_no_version_is_refused(text):
    with pytest.raises(errors.UnsupportedVersion) as refusal:
        Microversion.parse(text)
    assert str(refusal.value) == f'{text!r} is not a Placement API version'


def test_every_version_of_the_service_can_be_asked_for():
    assert list(CHOICES) == ['1', *(f'1.{minor}' for minor in range(40))]
    assert [parse_version_option(text) for text in CHOICES] == [
        None,
        *(Microversion(1, minor) for minor in range(40)),
    ]


@pytest.mark.parametrize(
    'text', ['', '0', '2', '1.40', '1.00', '1.01', '2.0', 'v1', 'latest', '1 ']
)
def test_no_other_version_can_be_asked_for(text):
    with pytest.raises(errors.UnsupportedVersion) as refusal:
        parse_version_option(text)
    assert str(refusal.value) == (
        f'Placement API version {text} is not known: leave out --os-placement-api-version '
        '(OS_PLACEMENT_API_VERSION) for the highest that client and service both know, or give one '
        'of 1.0 to 1.39'
    )


@pytest.mark.parametrize(('lowest', 'highest'), [('1.40', '1.50'), ('0.1', '0.9'), ('2.0', '2.1')])
def test_without_a_common_version_both_ranges_are_named(lowest, highest):
    with pytest.raises(errors.UnsupportedVersion) as refusal:
        choose_version(Microversion.parse(lowest), Microversion.parse(highest))
    assert str(refusal.value) == (
        f'The service supports microversions {lowest} to {highest}, this client 1.0 to 1.39'
    )
