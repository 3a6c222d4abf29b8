# SPDX-License-Identifier: Apache-2.0
"""For uWSGI: the service, to which whoever asks is admin and service; without Keystone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from placement.wsgi import api


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request."""
    environ.setdefault('HTTP_X_AUTH_TOKEN', 'admin')
    environ.setdefault('HTTP_X_ROLES', 'admin,service')
    answer: Iterable[bytes] = api.application(environ, start_response)
    return answer
