"""Exceptions: exit statuses, and what an answer becomes."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import placementclient
from placementclient.client import errors
from placementclient.client.errors import ExitStatus
from tests.unit.dialogue import fault


def answer(
    status: int, body: Any = None, reason: str | None = None, **headers: str
) -> errors.HTTPError:
    return errors.from_answer(status, reason, body, headers)


def test_exit_statuses_are_a_contract() -> None:
    assert {status.name: status.value for status in ExitStatus} == {
        'DONE': 0,
        'ERROR': 1,
        'USAGE': 2,
        'DIFFERS': 3,
        'INFEASIBLE': 4,
        'UNDECIDED': 5,
        'PARTIAL': 6,
        'INTERRUPTED': 130,
    }


@pytest.mark.parametrize(
    ('kind', 'status'),
    [
        (errors.PlacementError, ExitStatus.ERROR),
        (errors.HTTPError, ExitStatus.ERROR),
        (errors.BadArgument, ExitStatus.ERROR),
        (errors.UnsupportedVersion, ExitStatus.ERROR),
        (errors.UsageError, ExitStatus.USAGE),
        (errors.Differs, ExitStatus.DIFFERS),
    ],
)
def test_an_exception_says_how_the_command_ends(
    kind: type[errors.PlacementError], status: ExitStatus
) -> None:
    assert kind.exit_status is status


@pytest.mark.parametrize(
    'failure',
    [
        errors.BadFile('plan.json', 'damaged', 7),
        errors.BadFiles([errors.BadFile('a', 'x', 1), errors.BadFile('b', 'y', 2)]),
        answer(409, fault('concurrently updated', 'placement.concurrent_update')),
        errors.Unexpected(ValueError('what')),
        errors.Interrupted('Interrupted'),
    ],
)
def test_an_exception_is_the_same_in_another_process(failure: errors.PlacementError) -> None:
    there = pickle.loads(pickle.dumps(failure))
    assert type(there) is type(failure)
    assert str(there) == str(failure)
    assert vars(there).keys() == vars(failure).keys()


def test_everything_raised_on_purpose_has_one_root() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    exceptions = [kind for kind in kinds if issubclass(kind, Exception)]
    assert all(issubclass(kind, errors.PlacementError) for kind in exceptions)


@pytest.mark.parametrize(
    ('status', 'kind', 'elsewhere'),
    [
        (400, errors.BadRequest, errors.ForeignAnswer),
        (401, errors.Unauthorized, errors.Unauthorized),
        (403, errors.Forbidden, errors.ForeignAnswer),
        (404, errors.NotFound, errors.ForeignAnswer),
        (405, errors.HTTPError, errors.ForeignAnswer),
        (406, errors.NotAcceptable, errors.ForeignAnswer),
        (408, errors.Busy, errors.Busy),
        (409, errors.Conflict, errors.ForeignAnswer),
        (418, errors.HTTPError, errors.ForeignAnswer),
        (429, errors.Busy, errors.Busy),
        (500, errors.ServerError, errors.ServerError),
        (502, errors.ServerError, errors.ServerError),
        (599, errors.ServerError, errors.ServerError),
    ],
)
def test_a_status_is_a_type_and_only_the_service_says_what_is_there(
    status: int, kind: type[errors.HTTPError], elsewhere: type[errors.HTTPError]
) -> None:
    assert type(answer(status, fault(status, 'x').body)) is kind
    assert type(answer(status)) is elsewhere
    assert type(answer(status, {'message': 'x', 'code': status})) is elsewhere


@pytest.mark.parametrize(
    ('kind', 'is_answer', 'may_pass'),
    [
        (errors.NotFound, True, False),
        (errors.Conflict, True, False),
        (errors.ForeignAnswer, False, False),
        (errors.InvalidAnswer, False, False),
        (errors.ServerError, False, True),
        (errors.Busy, False, True),
        (errors.Unreachable, False, True),
    ],
)
def test_what_says_nothing_is_told_from_an_answer(
    kind: type[errors.PlacementError], is_answer: bool, may_pass: bool
) -> None:
    assert issubclass(kind, errors.NoAnswer) is not is_answer
    assert issubclass(kind, errors.Transient) is may_pass


@pytest.mark.parametrize(
    'sentence',
    [
        'Another thread concurrently updated the resource provider data. Please retry your update',
        "(pymysql.err.OperationalError) (1213, 'Deadlock found when trying to get lock')",
        '(psycopg2.errors.DeadlockDetected) deadlock detected',
        '(psycopg2.errors.SerializationFailure) could not serialize access',
    ],
)
def test_a_race_that_is_lost_with_500_is_a_conflict(sentence: str) -> None:
    assert type(answer(500, fault(500, sentence).body)) is errors.ConcurrentUpdate


def test_when_to_ask_again_is_kept() -> None:
    error = answer(503, None, 'Busy', **{'retry-after': '7'})
    assert isinstance(error, errors.ServerError)
    assert error.retry_after == '7'


@pytest.mark.parametrize(
    ('code', 'kind'),
    [
        ('placement.concurrent_update', errors.ConcurrentUpdate),
        ('placement.inventory.inuse', errors.InventoryInUse),
        ('placement.duplicate_name', errors.DuplicateName),
        ('placement.resource_provider.inuse', errors.ProviderInUse),
        ('placement.resource_provider.cannot_delete_parent', errors.CannotDeleteParent),
        ('placement.undefined_code', errors.Conflict),
        ('placement.of.a.later.release', errors.Conflict),
        (None, errors.Conflict),
        (['placement.concurrent_update'], errors.Conflict),
    ],
)
def test_conflicts_are_told_apart_by_their_code(code: Any, kind: type[errors.HTTPError]) -> None:
    assert type(answer(409, {'errors': [{'detail': 'x', 'code': code}]})) is kind


def test_a_provider_that_the_reshaper_misses_is_a_bad_request() -> None:
    error = answer(400, fault(400, 'No such', 'placement.resource_provider.not_found').body)
    assert isinstance(error, errors.ProviderNotFound)
    assert isinstance(error, errors.BadRequest)


def test_the_message_is_the_last_paragraph_with_code_and_request_id() -> None:
    error = answer(409, fault(409, 'Taken by somebody.', 'placement.duplicate_name').body)
    assert str(error) == 'Taken by somebody. (HTTP 409) [placement.duplicate_name, req-1]'
    assert (error.status, error.sentence) == (409, 'Taken by somebody.')
    assert (error.code, error.request_id) == ('placement.duplicate_name', 'req-1')


def test_the_code_of_what_has_no_code_is_not_printed() -> None:
    assert str(answer(404, fault(404, 'No such.').body)) == 'No such. (HTTP 404) [req-1]'


@pytest.mark.parametrize(
    ('detail', 'sentence'),
    [
        ('Alone', 'Alone'),
        ('Standard phrase.\n\n The news.  ', 'The news.'),
        (
            'Standard phrase.\n\n JSON does not validate: -1 is less than the minimum of 0\n\n'
            "Failed validating 'minimum' in schema['x']:\n    {'minimum': 0}\n\n"
            "On instance['x']:\n    -1  ",
            'JSON does not validate: -1 is less than the minimum of 0',
        ),
        ('Standard phrase.\n \t\n The\n   news\r\ncontinued.\n\n', 'The news continued.'),
        ('', 'Title'),
        (None, 'Title'),
    ],
)
def test_the_useful_paragraph_becomes_one_line(detail: str | None, sentence: str) -> None:
    body = {'errors': [{'title': 'Title', 'detail': detail}]}
    assert answer(400, body).sentence == sentence


def test_facts_of_many_lines_are_told_in_one() -> None:
    body = {'errors': [{'detail': 'a\x85b', 'code': 'c\nd', 'request_id': 'e\u2028f'}]}
    assert str(answer(400, body, 'Bad\r\nRequest')) == 'a b (HTTP 400) [c d, e f]'
    assert str(answer(400, None, 'Bad\r\nRequest')).startswith('Bad Request: ')


def test_the_request_id_of_the_header_stands_in_for_that_of_the_body() -> None:
    error = answer(502, None, 'Bad Gateway', **{'x-openstack-request-id': 'req-2'})
    assert str(error) == (
        'Bad Gateway: the answer is not one of the Placement service (HTTP 502) [req-2]'
    )


@pytest.mark.parametrize(
    'body',
    [
        *(None, [], 'text', 5, {}),
        *({'errors': errors} for errors in (None, [], {}, 'no')),
        *({'errors': [fault]} for fault in (None, 'x', {}, {'detail': ''})),
    ],
    ids=str,
)
def test_a_body_that_says_nothing_leaves_the_reason(body: Any) -> None:
    assert str(answer(409, body, 'Conflict')) == (
        'Conflict: the answer is not one of the Placement service (HTTP 409)'
    )


def test_without_a_reason_the_status_remains() -> None:
    assert str(answer(599)) == (
        'Unknown status: the answer is not one of the Placement service (HTTP 599)'
    )


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
facts = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(('detail', 'title', 'code', 'request_id', 'status'), anything)
)


@pytest.mark.slow
@given(
    st.integers(400, 599), anything | st.fixed_dictionaries({'errors': anything | st.lists(facts)})
)
def test_any_body_becomes_one_line_with_the_status(status: int, body: Any) -> None:
    error = answer(status, body, 'Reason')
    assert len(str(error).splitlines()) == 1
    assert f'(HTTP {status})' in str(error)


@pytest.mark.parametrize(
    ('line', 'text'), [(None, 'a.yaml: not a plan'), (3, 'a.yaml:3: not a plan')]
)
def test_a_bad_file_is_named_with_the_line(line: int | None, text: str) -> None:
    assert str(errors.BadFile('a.yaml', 'not a plan', line)) == text


def test_providers_get_their_names_beside_their_uuids() -> None:
    failure = answer(409, fault(409, 'Unable to allocate on u1: u2 is in the way.').body)
    named = failure.with_names({'u1': 'compute1'})
    assert (type(named), str(named)) == (
        type(failure),
        'Unable to allocate on u1 (compute1): u2 is in the way. (HTTP 409) [req-1]',
    )


def test_an_answer_may_say_as_much_as_it_likes() -> None:
    refusal = errors.from_answer(400, None, fault(400, 'no ' + 'x' * 1_000_000).body, {})
    assert str(refusal).startswith('no xxx')
    assert len(str(refusal)) < 5000


def kinds(kind: type[BaseException] = errors.PlacementError) -> Iterator[type[BaseException]]:
    yield kind
    for each in kind.__subclasses__():
        yield from kinds(each)


@pytest.mark.parametrize('arguments', [(), ('',), (' \n',)])
def test_every_error_has_a_text(arguments: tuple[str, ...]) -> None:
    """Also those that other modules add; one without a text of its own says its class."""
    for module in pkgutil.walk_packages(placementclient.__path__, 'placementclient.'):
        if not module.name.startswith('placementclient.direct.'):
            importlib.import_module(module.name)
    found = {kind for kind in kinds() if kind.__module__.startswith('placementclient')}
    assert len(found) > 30
    for kind in found:
        # However it is made: of another process it comes without having been.
        said = str(kind.__new__(kind, *arguments)).strip()
        assert said, kind
        if not issubclass(kind, errors.HTTPError):
            assert said.startswith(kind.__name__)


def test_what_nobody_foresaw_says_its_class() -> None:
    assert str(errors.Unexpected(StopIteration())) == 'StopIteration'
    assert str(errors.Unexpected(KeyError('x'))) == "KeyError: 'x'"
