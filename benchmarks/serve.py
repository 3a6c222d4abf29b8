# SPDX-License-Identifier: Apache-2.0
"""A real Placement that carries out one request after the other.

    python -m benchmarks.serve PORT SQLITE_FILE

Several connections may wait, but only one of them writes: with many writers at once SQLite refuses
some as locked, which other databases do not, and how many is a matter of luck.
"""

from __future__ import annotations

import sys
from pathlib import Path

import waitress

from tests.functional.service import application

if __name__ == '__main__':
    port, path = sys.argv[1:]
    waitress.serve(application(Path(path)), host='127.0.0.1', port=int(port), threads=1)
