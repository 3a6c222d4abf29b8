# SPDX-License-Identifier: Apache-2.0
"""Every command on a service that answers something else: a line that says so."""

import json
from collections.abc import Callable
from contextlib import closing
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keystoneauth1.session import Session

from placementclient.api import attempts
from placementclient.client import retries
from placementclient.embedded import Direct
from tests.functional.fuzzed import POINTS, Program, check, examples_of, name
from tests.functional.pausing import count_pauses
from tests.fuzzing import VALUES, examples, replaced

pytestmark = pytest.mark.slow

#: Makes another answer of the body of one, and of its status.
Change = Callable[[bytes, int], tuple[bytes, int]]

GARBAGE = [b'null', b'[]', b'{}', b'<html>maintenance</html>']


class Answers:
    """Stands before the service, and changes one of its answers.

    :ivar change: what becomes of it
    :ivar number: which it is of those with a body, from 0
    """

    def __init__(self, send):
        self._send = send
        self.change: Change = lambda body, status: (body, status)
        self.number = 0

    def send(self, *args, **kwargs):
        """What carries a request and its answer."""
        response = self._send(*args, **kwargs)
        if response.content:
            if self.number == 0:
                changed = self.change(response.content, response.status_code)
                response._content, response.status_code = changed
            self.number -= 1
        return response


@pytest.fixture(scope='module')
def fuzzed(tmp_path_factory):
    with Direct.scratch() as service, pytest.MonkeyPatch.context() as patch:
        session = Session(auth=service)
        # Else some commands read its tables.
        url = session.get_endpoint(service_type='placement')
        patch.setenv('OS_PLACEMENT_ENDPOINT_OVERRIDE', url)
        program = Program(session, tmp_path_factory.mktemp('fuzz'), is_true=False)
        answers = Answers(service._transport.send)
        patch.setattr(service._transport, 'send', answers.send)
        with closing(program):
            yield program, answers


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    count_pauses(monkeypatch, retries, attempts)


def _doubled(value):
    """Return a document in which each element of a list appears twice."""
    if isinstance(value, dict):
        return {key: _doubled(inside) for key, inside in value.items()}
    return [_doubled(item) for item in value * 2] if isinstance(value, list) else value


@st.composite
def changes(draw):
    """Something in the answer, or all of it, is something else."""
    what = draw(
        st.sampled_from(['value', 'value', 'value', 'cut', 'bytes', 'status', 'deep', 'twice'])
    )
    if what == 'status':
        other = draw(st.sampled_from([200, 204, 301, 400, 404, 406, 409, 500, 503]))
        return lambda body, status: (body, other)
    if what == 'bytes':
        content = draw(
            st.binary(max_size=40)
            | st.sampled_from([b'null', b'[]', b'{}', b'<html>maintenance</html>'])
        )
        return lambda body, status: (content, status)
    if what == 'deep':
        return lambda body, status: (b'{"a":' * 100_000, status)
    if what == 'twice':
        return lambda body, status: (json.dumps(_doubled(json.loads(body))).encode(), status)
    if what == 'cut':
        share = draw(st.floats(0, 1))
        return lambda body, status: (body[: int(len(body) * share)], status)
    # Not drawn when the answer is there: it depends on what was sent before.
    new, choose = draw(VALUES), Random(draw(st.integers(0, 1 << 32))).choice
    return lambda body, status: (
        json.dumps(replaced(json.loads(body), choose, new)).encode(),
        status,
    )


@pytest.mark.parametrize('point', POINTS, ids=name)
@examples(3)
@given(data=st.data())
def test_no_answer_of_the_service_makes_a_traceback(fuzzed, point, data):
    program, answers = fuzzed
    arguments = examples_of(point)
    words = [*name(point).split(), *data.draw(st.sampled_from(arguments))]
    if '--yes' not in words and data.draw(st.booleans()):
        words.append('-fjson')
    answers.change, answers.number = data.draw(changes()), data.draw(st.integers(0, 3))
    check(words, program.run(words))


def test_a_refusal_of_a_hundred_megabytes_is_one_short_line(fuzzed):
    program, answers = fuzzed
    body = json.dumps({'errors': [{'detail': f'{"x" * 100}\x1b[2J' * 1_000_000}]}).encode()
    answers.change, answers.number = lambda *_: (body, 400), 0
    ended = program.run(['resource', 'class', 'list'])
    assert (ended.status, ended.stderr.count('\n')) == (1, 1)
    assert len(ended.stderr) < 10_000
