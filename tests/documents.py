# SPDX-License-Identifier: Apache-2.0
"""Values as the JSON that their files hold."""

import json
from typing import Any

from placementclient.files import snapshots


def document(snapshot):
    """All of a snapshot but where it was read, for comparisons."""
    content: dict[str, Any] = json.loads(b''.join(snapshots.encode_snapshot(snapshot)))
    content.pop('origin', None)
    return content
