"""Databases that a server has, for tests that are run on them."""

from __future__ import annotations

import sqlalchemy

from placementclient.direct.service import Service


def emptied(url: str) -> None:
    """Leave a database with a current schema and nothing else."""
    engine = sqlalchemy.create_engine(url)
    tables = sqlalchemy.MetaData()
    tables.reflect(engine)
    tables.drop_all(engine)
    engine.dispose()
    service = Service(url)
    service.migrate()
    service.close()
