# SPDX-License-Identifier: Apache-2.0
"""The pauses between the attempts of a command, which nobody waits for."""


def count_pauses(monkeypatch, *modules):
    """Return the list in which the pauses of some modules are noted, in seconds."""
    pauses: list[float] = []

    class Time:
        sleep = staticmethod(pauses.append)
        monotonic = staticmethod(lambda: sum(pauses))

    for module in modules:
        monkeypatch.setattr(module, 'time', Time)
    return pauses
