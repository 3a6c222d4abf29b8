# SPDX-License-Identifier: Apache-2.0
"""The URL of a database in printable form, and the reason why a database is unusable.

A URL has a password in many places: beside the user, among the parameters, anywhere at all where it
is mistyped. So it is printed from its parts, or not at all; and messages of libraries are printed
only if they come from the database.
"""

import itertools
import os

from oslo_config import cfg
from oslo_db import exception
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from placementclient.basis.wording import find_most_similar

#: Errors whose text has only names of files and options.
_OF_THE_FILE = (
    cfg.ConfigFilesNotFoundError,
    cfg.ConfigFilesPermissionDeniedError,
    cfg.RequiredOptError,
)
UNREADABLE = 'a database whose URL cannot be read'
_EXAMPLES = 'mysql+pymysql://…, postgresql+psycopg2://… or sqlite:////folder/file'
#: What to check where no database answers, or where it refuses.
CHECKS = '. Check that the database server runs, and the host, port and user of the URL'


def hide_password(url: str | URL) -> str:
    """Return a URL without its password and parameters, or :data:`UNREADABLE`."""
    parsed = _parse_url(url)
    return parsed.set(query={}).render_as_string() if parsed else UNREADABLE


def describe_failure(failure: Exception, url: str) -> str:
    """Return the reason why a library cannot use the database of a URL, as a phrase."""
    if isinstance(failure, ModuleNotFoundError):
        return f'{failure}, the driver of this database'
    if isinstance(failure, _OF_THE_FILE):
        return str(failure)
    if isinstance(failure, cfg.ConfigFileParseError):
        return 'it cannot be parsed'
    if isinstance(failure, OSError):
        return failure.strerror or type(failure).__name__
    if isinstance(failure, exception.DBError | DBAPIError) and (parsed := _parse_url(url)):
        return _describe_database_error(failure, parsed)
    # Only a text that is no URL comes this far, or an error that is not of a database.
    if os.path.isfile(url) or (url.startswith(('/', './', '../')) and '@' not in url):
        return f'it is a path; type sqlite:///{_correct_file_name(os.path.abspath(url))}'
    name = '' if isinstance(failure, ArgumentError) else f'{type(failure).__name__}; '
    return f'{name}a URL is {_EXAMPLES}'


def _correct_file_name(path: str) -> str:
    """Return a path; without a file there, that of the only file beside it with a similar name."""
    folder, name = os.path.split(path)
    if os.path.isfile(path) or not os.path.isdir(folder):
        return path
    similar = find_most_similar(name, os.listdir(folder))
    return os.path.join(folder, similar[0] if len(similar) == 1 else name)


def _describe_database_error(failure: Exception, url: URL) -> str:
    """Return the message of a database; only the error's type if it has a secret of the URL."""
    message = (_find_driver_message(failure).strip() or type(failure).__name__).splitlines()[0]
    if message == 'file is not a database':
        return 'the file is not a SQLite database; a snapshot is for --snapshot FILE'
    secrets = itertools.chain([url.password], *url.normalized_query.values())
    if any(secret and str(secret) in message for secret in secrets):
        return f'{type(failure).__name__}, with a message that has a secret of the URL{CHECKS}'
    is_silent = isinstance(failure, exception.DBConnectionError)
    return f'{message}{CHECKS}' if is_silent else message


def _find_driver_message(failure: BaseException) -> str:
    """Return the text in the exception of a database's driver, without its error number."""
    cause = getattr(failure, 'inner_exception', None) or getattr(failure, 'orig', None)
    if isinstance(cause, BaseException):
        return _find_driver_message(cause)
    return next((text for text in reversed(failure.args) if isinstance(text, str)), str(failure))


def _parse_url(url: str | URL) -> URL | None:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return None
    # An @ in a password that is not quoted makes the rest of the password a part of the host.
    return None if '@' in (parsed.host or '') else parsed
