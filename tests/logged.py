# SPDX-License-Identifier: Apache-2.0
"""The line that names the global request ID."""

import re

_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
_LINE = re.compile(f"In Placement's log, search for (req-{_UUID})\n\\Z")


def global_request_id(text):
    """Return the ID that the last line of stderr names."""
    line = _LINE.search(text)
    assert line, text
    return line[1]
