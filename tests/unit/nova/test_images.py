# SPDX-License-Identifier: Apache-2.0
"""The images of servers, by ID, and those of root volumes."""

import pytest

from placementclient.basis import errors
from placementclient.model.servers import Image, Server, ServerImage, VolumeReference
from placementclient.nova.images import Images, decode_image, decode_images

GOLD = {'id': 'A', 'disk_format': 'raw', 'trait:CUSTOM_GOLD': 'required', 'min_ram': 4, 'tags': []}


def volume(uuid, device, *, bootable='true', **metadata):
    attachment = {'server_id': 'S', 'device': device}
    record = {'id': uuid, 'bootable': bootable, 'attachments': [attachment]}
    return record | ({'volume_image_metadata': metadata} if metadata else {})


def booted(device=None):
    return Server('s', image=None, root_device=device, volumes=(VolumeReference('v'),))


def test_an_image_is_found_by_the_id_that_the_server_has():
    known = decode_images({'images': [GOLD]}, 'images.json')
    found, unknown = known.find_image(Server('s', image=ServerImage('a')))
    assert found == Image({'trait:CUSTOM_GOLD': 'required'}, 'raw', 4)
    assert unknown == ()
    assert known.find_image(Server('s', image=ServerImage('b'))) == (
        None, ('image b (images.json does not have it)',)
    )  # fmt: skip


def test_the_properties_that_nova_shows_lack_traits():
    found, unknown = Images().find_image(
        Server('s', image=ServerImage('b', {'hw_disk_bus': 'scsi'}))
    )
    assert found == Image({'hw_disk_bus': 'scsi'})
    assert unknown == ('traits of image b (images not given)',)


@pytest.mark.parametrize(
    ('volumes', 'expected'),
    [
        ([volume('v', '/dev/vda', hw_disk_bus='scsi', min_ram='4', image_id='x')],
         Image({'hw_disk_bus': 'scsi', 'image_id': 'x'}, None, 4)),
        ([volume('v', '/dev/vda')], Image()),
        ([volume('v', '/dev/vda', a='1'), volume('w', '/dev/vdb', bootable='false', a='2')],
         Image({'a': '1'})),
        ([volume('w', '/dev/vdb', a='2'), volume('v', '/dev/vda', a='1')], Image({'a': '1'})),
        ([volume('w', '/dev/vdb', a='2'), volume('v', '/dev/vdc', a='1')], None),
        ([], None),
    ],
)  # fmt: skip
def test_a_server_of_a_volume_has_the_image_of_its_root_volume(volumes, expected):
    server = booted('/dev/vda')
    known = decode_images({'images': [], 'volumes': volumes}, 'x', [server])
    found, unknown = known.find_image(server)
    assert found == expected
    assert bool(unknown) == (expected is None)


@pytest.mark.parametrize('document', [{}, [1], {'images': [{'id': 'a'}]}, {'images': {}}, None])
def test_a_file_that_has_no_images_is_refused(document):
    with pytest.raises(errors.BadFile):
        decode_images(document, 'x')
    with pytest.raises(errors.BadFile):
        decode_image(document, 'x')
