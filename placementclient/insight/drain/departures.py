"""The commands that move a server off a host, by its state in Nova."""

from typing import NamedTuple


class Departure(NamedTuple):
    """The command that moves a server in some state off its host.

    :param command: the command to run now, with the places ``{server}`` and ``{host}``
    :param obstacle: why Nova does not move the server yet; empty: the command moves it
    :param needs_place: False if the command frees all that the server holds
    """

    command: str
    obstacle: str = ''
    needs_place: bool = True


_LIVE = Departure('openstack server migrate --live-migration --host {host} {server}')
#: Every state of ``nova/compute/vm_states.py`` (34), and the status that the API has for it. Nova
#: migrates servers live that are active or paused, and cold that are active or stopped.
_DEPARTURES = {
    ('active', 'paused'): _LIVE,
    ('stopped', 'shutoff'): Departure('openstack server migrate --host {host} {server}'),
    # "openstack server shelve --offload" passes over a server that is shelved already.
    ('shelved',): Departure('nova shelve-offload {server}', needs_place=False),
    ('suspended',): Departure('openstack server resume {server}', 'is suspended'),
    ('rescued', 'rescue'): Departure('openstack server unrescue {server}', 'is rescued'),
    ('resized', 'verify_resize'): Departure(
        'openstack server resize confirm {server}', 'waits for its resize to end'
    ),
    ('error',): Departure('openstack server set --state active {server}', 'is in error'),
    ('building', 'build'): Departure('openstack server show {server}', 'is being built'),
    ('soft-delete', 'soft_deleted'): Departure(
        'openstack server restore {server}', 'is deleted and can be restored'
    ),
}
#: Servers in these states are on no host: what they hold there is left over.
GONE = frozenset({'deleted', 'shelved_offloaded'})


def departure(state: str | None) -> Departure:
    """Return the command that moves a server off its host.

    :param state: as Nova has it, in small letters; ``None``: not known
    """
    if state is None:
        return _LIVE
    chosen = (leaving for states, leaving in _DEPARTURES.items() if state in states)
    return next(chosen, Departure('openstack server show {server}', f'is {state}'))
