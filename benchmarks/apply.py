# SPDX-License-Identifier: Apache-2.0
"""``reshape apply --workers 8`` against the same requests from bare connections.

    python -m benchmarks.apply

A tree of two children and four servers takes 10 requests, and one list of all providers for all
trees. Each request is one of these, and gives one guarantee:

* two reads of the host, inventories and allocations: what is there has the values that the plan
  says, also where a database was restored and generations are those of before;
* two POST for the children and two PUT of their traits: what is to be made;
* POST /reshaper: all or nothing, with the generations of the plan;
* the allocations of the host and of each child: the transaction is stored, all that was moved has
  arrived, and nothing else has gone. Where the consumers are fewer than the providers, their
  allocations are read instead; where no allocation moves, the inventories.

Fewer requests would lose one of these guarantees. Placement answers ``POST /reshaper`` without a
body, so that the answer says nothing of what is stored. It lists generations of a whole tree at
once, but these move by steps of its own. Candidates have no totals, and none of a full provider.

What was applied cannot be applied again: before each run the database is brought back to what it
was before the first. Both sides send to a service that carries out one request after the other.
"""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import stage
from benchmarks.paired import Run, Spent, command, environment, paired, runs
from benchmarks.recording import Request, recorder, replay

HOSTS, SERVERS, WORKERS = 100, 4, 8
RESHAPE = ('resource', 'provider', 'reshape')
CARDS = ('{root}_pci_0000_84_00_0', '{root}_pci_0000_85_00_0')
SHARE = SERVERS // len(CARDS)
#: JSON is YAML too.
SPECIFICATION = {
    'trees': {'name': ['compute*'], 'class': ['VGPU']},
    'providers': [
        {
            'name': card,
            'inventories': {'VGPU': {'total': SHARE, 'max_unit': SHARE}},
            'traits': ['OWNER_NOVA'],
        }
        for card in CARDS
    ],
    'moves': [
        {
            'from_resource_provider': '{root}',
            'to_resource_provider': card,
            'moved_resources': {'VGPU': SHARE},
        }
        for card in CARDS
    ],
}
_WORD = re.compile(r'[\w-]+')
#: In place of the number of a tree.
NOBODY = -1


def main() -> None:
    """Print a row."""
    number = runs(5, __doc__)
    placement = stage.ours() / 'placement'
    with tempfile.TemporaryDirectory() as folder, stage.other_disk() as other:
        database, plan = Path(other, 'placement.sqlite'), Path(folder, 'plan.json')
        with stage.service(stage.SERIAL, database) as url:
            stage.populate(url, HOSTS, SERVERS, {'VGPU': 1})
            _plan(placement, url, plan)
            before = sqlite3.connect(Path(other, 'before.sqlite'))
            _copy(sqlite3.connect(database), before)

            def restore() -> None:
                Path(f'{plan}.journal').unlink(missing_ok=True)
                _copy(before, sqlite3.connect(database))

            apply = [placement, *RESHAPE, 'apply', plan, '--workers', WORKERS, '--yes']
            with recorder(url) as (proxy, requests):
                command(apply, _cloud(proxy))()
            first, lanes = _by_tree(requests, json.loads(plan.read_text()))
            count = Counter(request.method for request in requests)
            print(f'{len(requests)} requests for {HOSTS} hosts: {dict(count)}')
            pairs = paired(
                _anew(restore, command(apply, _cloud(url))),
                _anew(restore, replay(url, first, lanes, WORKERS)),
                number,
            )
            pairs.report(f'reshape apply --workers {WORKERS}')


def _cloud(url: str) -> dict[str, str]:
    return environment(OS_AUTH_TYPE='none', OS_ENDPOINT=url)


def _plan(placement: Path, url: str, plan: Path) -> None:
    specification = plan.with_name('vgpu.yaml')
    specification.write_text(json.dumps(SPECIFICATION))
    words = ('plan', '--spec', specification, '--allow-inferred', '-o', plan)
    command([placement, *RESHAPE, *words], _cloud(url))()


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Make one database the same as another, under the eyes of whoever has it open."""
    source.backup(target)


def _anew(restore: Callable[[], None], run: Run) -> Run:
    """A run that begins where all others do."""

    def prepared() -> Spent:
        restore()
        return run()

    return prepared


def _by_tree(requests: Sequence[Request], plan: Any) -> tuple[list[Request], list[list[Request]]]:
    """What belongs to no tree of a plan, and what belongs to each.

    A request belongs to the tree that alone has the first UUID or name that the request has.
    """
    owners: dict[str, int] = {}
    for number, tree in enumerate(plan['trees']):
        for word in set(_WORD.findall(json.dumps(tree))):
            owners[word] = number if word not in owners else NOBODY
    lanes: dict[int, list[Request]] = {number: [] for number in range(NOBODY, len(plan['trees']))}
    for request in requests:
        words = _WORD.findall(f'{request.path} {(request.body or b"").decode()}')
        owned = (owners[word] for word in words if owners.get(word, NOBODY) != NOBODY)
        lanes[next(owned, NOBODY)].append(request)
    return lanes.pop(NOBODY), list(lanes.values())


if __name__ == '__main__':
    main()
