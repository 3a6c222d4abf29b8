# SPDX-License-Identifier: Apache-2.0
"""A session of Keystone with the recorded answers of other services."""

import json
from typing import Any

import requests


class Answer:
    """What a request is answered."""

    def __init__(self, body):
        self.status_code, self.reason = (body, 'No') if isinstance(body, int) else (200, 'OK')
        self.content = body if isinstance(body, bytes) else json.dumps(body).encode()


class Session:
    """A session with a catalog, and recorded answers."""

    def __init__(self, *answers):
        self.auth = self
        self.session = requests.Session()
        self._answers = list(answers)
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def get_access(self, session):
        """What only plugins of Keystone have."""

    def get(self, url, **settings):
        self.requests.append((url, settings))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer)
