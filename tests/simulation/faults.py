# SPDX-License-Identifier: Apache-2.0
"""What happens to requests on their way, as a seed decides."""

import io
import json
import random
from dataclasses import dataclass

import urllib3
from requests.adapters import HTTPAdapter

#: Not done, then done, as far as whoever asked can see; with how often each is chosen.
KINDS = {
    'unsent': 3, 'lost': 6, 'conflict': 4, '500': 2, '502': 2, '502 after': 4, '503': 2,
    'slow': 4, 'killed': 3, 'killed after': 4, 'interrupted': 1, 'interrupted after': 1, 'gone': 2,
}  # fmt: skip
#: What can happen without a network in between.
LOCAL = ('slow', 'killed', 'killed after', 'interrupted', 'interrupted after', 'gone')


class Killed(BaseException):
    """The process of an operator has ended: nobody catches this."""


@dataclass
class Faults:
    """Decides what happens to a request.

    :param rate: how likely it is that something does
    """

    dice: random.Random
    rate: float
    kinds: tuple[str, ...] = tuple(KINDS)

    def draw(self, method):
        if self.dice.random() >= self.rate:
            return None
        weights = [KINDS[kind] for kind in self.kinds]
        kind = self.dice.choices(self.kinds, weights)[0]
        return None if kind == 'conflict' and method == 'GET' else kind


def answer(request, kind):
    """What a server, or a proxy before it, says instead of the true answer."""
    if kind == 'conflict':
        return response(request, 409, _fault(409, 'placement.concurrent_update'))
    if kind == '500':
        return response(request, 500, _fault(500, 'placement.undefined_code'))
    if kind == '503':
        return response(request, 503, b'', {'Retry-After': '2'})
    return response(request, 502, b'<html>Bad Gateway</html>')


def _fault(status, code):
    detail = 'The server said so.\n\n Simulated: the generation is another one  '
    fault = {'status': status, 'title': 'Fault', 'detail': detail, 'code': code}
    return json.dumps({'errors': [fault | {'request_id': 'req-simulated'}]}).encode()


def response(request, status, body, headers=None):
    """A response as if it had come over the network."""
    raw = urllib3.HTTPResponse(
        body=io.BytesIO(body), headers=headers or {}, status=status, preload_content=False
    )
    return HTTPAdapter().build_response(request, raw)
