# SPDX-License-Identifier: Apache-2.0
"""Filters of the log of a command: printable text, and commands as the user types them."""

import contextlib
import logging
from collections.abc import Iterator

from placementclient.basis.printable import escape_text
from placementclient.basis.wording import replace_program


def escape_record(record: logging.LogRecord) -> bool:
    """Escape the control characters of a log record; as a filter of logging, return True."""
    record.msg, record.args = escape_text(record.getMessage()), None
    return True


@contextlib.contextmanager
def use_program_name_in_log(log: logging.Logger, program: str) -> Iterator[None]:
    """In the block, let log messages name commands of the running program, not of ``placement``."""

    def insert_program_name(record: logging.LogRecord) -> bool:
        record.msg = replace_program(str(record.msg), program)
        return True

    log.addFilter(insert_program_name)
    try:
        yield
    finally:
        log.removeFilter(insert_program_name)
