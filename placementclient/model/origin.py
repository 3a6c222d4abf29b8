"""The source of the content of a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """The time, the service and the program that read the data.

    :param captured_at: when reading began, UTC, as ISO 8601
    :param service: the URL of the service; of the embedded one the database, without a password
    """

    captured_at: str | None = None
    service: str | None = None
    program: str | None = None


def is_elsewhere(origin: Origin | None, service: str) -> bool:
    """Return True if the data are from another service; False if that is unknown."""
    return origin is not None and origin.service not in (None, service)
