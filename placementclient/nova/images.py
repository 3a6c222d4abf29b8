# SPDX-License-Identifier: Apache-2.0
"""The images of servers, by the IDs that the servers have. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from placementclient.model.servers import Image, Server
from placementclient.nova.schema import RecordPlace, convert_record

#: Fields of an image that are no properties.
_FIELDS = frozenset({'disk_format', 'min_ram', 'min_disk', 'size', 'name', 'id', 'status'})
_VOLUMES = 'volumes'


@dataclass(frozen=True, slots=True)
class Images:
    """The images of servers, as far as they are known.

    :param by_id: the images of Glance
    :param of_servers: the image of the root volume of each server, by the server's UUID
    :param reason: the reason why images are missing in ``by_id``
    :param volume_reason: the reason why images are missing in ``of_servers``
    """

    by_id: Mapping[str, Image] = field(default_factory=dict)
    of_servers: Mapping[str, Image] = field(default_factory=dict)
    reason: str = 'images not given'
    volume_reason: str = 'volumes not given'

    def find_image(self, server: Server) -> tuple[Image | None, tuple[str, ...]]:
        """Return the image of a server, if it is known, and its parts that are not, with reasons.

        Nova's API shows only standard properties of images, and no traits.
        """
        if server.boots_from_volume:
            image = self.of_servers.get(server.uuid)
            return image, () if image else (f'image of the root volume ({self.volume_reason})',)
        uuid = (server.image.id if server.image else None) or ''
        if image := self.by_id.get(uuid.lower()):
            return image, ()
        properties = server.image_properties
        part = 'image' if properties is None else 'traits of image'
        unknown = (f'{part} {uuid} ({self.reason})'.replace('  ', ' '),)
        return (None if properties is None else Image(properties)), unknown


def decode_images(document: object, path: str, servers: Iterable[Server] = ()) -> Images:
    """Return the images of ``GET /v2/images``, and those of root volumes in a list beside them.

    :param document: may have ``volumes`` of Cinder, too
    :param servers: the servers whose root volumes are looked for
    """
    by_id = {}
    for place in _locate_records(document, path, 'images'):
        by_id[str(place.fields.get('id')).lower()] = decode_image(place.fields, path, place.name)
    volumes: dict[str, list[Mapping[str, Any]]] = {}
    if isinstance(document, Mapping) and _VOLUMES in document:
        for place in _locate_records(document, path, _VOLUMES):
            for attachment in place.fields.get('attachments') or ():
                record = {**place.fields, 'device': attachment.get('device')}
                volumes.setdefault(str(attachment.get('server_id')).lower(), []).append(record)
    roots = (
        (server.uuid, _find_root_volume(server, volumes.get(server.uuid, ()))) for server in servers
    )
    of_servers = {
        uuid: _convert_volume_image(root, path) for uuid, root in roots if root is not None
    }
    missing = f'{path} does not have it'
    return Images(by_id, of_servers, missing, missing)


def decode_image(document: object, path: str, name: str = 'image') -> Image:
    """Return an image: the answer to ``GET /v2/images/{id}``."""
    if not isinstance(document, Mapping) or 'disk_format' not in document:
        reason = 'is no answer of GET /v2/images/ID: it has no disk_format'
        raise RecordPlace(path, name, {}).make_error(reason)
    fields = {name: document[name] for name in _FIELDS & document.keys()}
    values = {name: value for name, value in document.items() if name not in _FIELDS}
    place = RecordPlace(path, name, fields)
    return replace(convert_record(place, Image), properties=_select_texts(values))


def _locate_records(document: object, path: str, key: str) -> list[RecordPlace]:
    """Return the records of a list, alone or under its key in a document, with their positions."""
    records = document.get(key) if isinstance(document, Mapping) else document
    if not isinstance(records, list) or not all(isinstance(r, Mapping) for r in records):
        raise RecordPlace(path, key, {}).make_error(f'not a list of {key}')
    return [RecordPlace(path, f'{key}[{n}]', record) for n, record in enumerate(records)]


def _find_root_volume(
    server: Server, volumes: Iterable[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the volume that a server boots from; ``None`` if none or several may be the one."""
    bootable = [volume for volume in volumes if str(volume.get('bootable')).lower() == 'true']
    device = [volume for volume in bootable if volume['device'] == server.root_device]
    one = device if len(bootable) > 1 else bootable
    return one[0] if len(one) == 1 else None


def _convert_volume_image(volume: Mapping[str, Any], path: str) -> Image:
    values = volume.get('volume_image_metadata') or {}
    fields = {name: values[name] for name in ('min_ram', 'min_disk') if name in values}
    place = RecordPlace(path, f'volume {volume.get("id")}', fields)
    names = values.keys() - _FIELDS
    return replace(
        convert_record(place, Image), properties=_select_texts({n: values[n] for n in names})
    )


def _select_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return those values, by key, that are texts or numbers, as texts."""
    return {
        str(name): str(value)
        for name, value in values.items()
        if isinstance(value, str | int | float)
    }
