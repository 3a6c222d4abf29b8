"""What all tests stand on."""

from __future__ import annotations

import signal

# Who starts the tests in the background of a shell lets them ignore Ctrl-C, and their children too.
signal.signal(signal.SIGINT, signal.default_int_handler)
