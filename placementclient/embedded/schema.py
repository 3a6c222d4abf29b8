"""The schema revision of a database, and the revisions that the installed server supports.

Alembic loads slowly, and only a migration needs it: these read what Alembic would.
"""

import re
from pathlib import Path

from placement.db.sqlalchemy import models
from sqlalchemy import Engine, inspect, text

_SCRIPTS = Path(str(models.__file__)).with_name('alembic') / 'versions'
_REVISION = re.compile(r'^(down_)?revision = [\'"](\w+)[\'"]', re.MULTILINE)


def revision(engine: Engine) -> str | None:
    """Return the schema revision of a database, or ``None`` without a schema of Placement."""
    with engine.connect() as connection:
        if not inspect(connection).has_table('alembic_version'):
            return None
        version: str | None = connection.scalar(text('SELECT version_num FROM alembic_version'))
        return version


def revisions() -> frozenset[str]:
    """Return all revisions of the installed server."""
    return frozenset(name for down, name in _named() if not down)


def head() -> str:
    """Return the newest revision of the installed server."""
    [newest] = revisions() - {name for down, name in _named() if down}
    return newest


def _named() -> list[tuple[str, str]]:
    scripts = _SCRIPTS.glob('*.py')
    return [match for script in scripts for match in _REVISION.findall(script.read_text())]
