"""A Placement in memory, as a transport: generations, conflicts, lost answers, other writers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import requests
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token
from requests.adapters import BaseAdapter

from placementclient.client.http import Client
from tests.unit.dialogue import NOTHING, STALE, URL, Reply, fault


@dataclass
class Provider:
    uuid: str
    name: str
    parent: str | None
    root: str
    generation: int = 0
    inventories: dict[str, dict[str, Any]] = field(default_factory=dict)
    traits: set[str] = field(default_factory=set)
    aggregates: set[str] = field(default_factory=set)

    def shown(self):
        return {
            'uuid': self.uuid,
            'name': self.name,
            'generation': self.generation,
            'parent_provider_uuid': self.parent,
            'root_provider_uuid': self.root,
        }


@dataclass
class Consumer:
    allocations: dict[str, dict[str, int]]
    project: str | None
    user: str | None
    type: str | None
    generation: int = 1


@dataclass(frozen=True)
class Fault:
    """Something that happens at the requests of a method and a part of a path.

    :param number: the first that is concerned, from 1
    :param times: how many are
    :param before: is called before the request is carried out
    :param answer: what is answered, and nothing carried out
    :param is_sent: whether it is carried out although its answer is lost
    :param is_lost: whether there is no answer
    """

    method: str
    part: str
    number: int = 1
    times: int = 1
    before: Callable[[Placement], None] | None = None
    answer: Reply | None = None
    is_sent: bool = False
    is_lost: bool = False


class Placement(BaseAdapter):
    def __init__(self, snapshot):
        super().__init__()
        self.providers = {
            uuid: Provider(
                uuid,
                state.name,
                state.provider.parent_provider_uuid,
                state.provider.root_provider_uuid or uuid,
                0,
                {name: value.as_fields() for name, value in state.inventories.items()},
                set(state.traits),
                set(state.aggregates),
            )
            for uuid, state in snapshot.providers.items()
        }
        self.consumers = {
            uuid: Consumer(
                {rp: dict(held) for rp, held in consumer.allocations.items()},
                consumer.project_id,
                consumer.user_id,
                consumer.type,
            )
            for uuid, consumer in snapshot.consumers.items()
        }
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self._seen: dict[int, int] = {}

    def client(self):
        transport = requests.Session()
        transport.mount(URL, self)
        return Client(Session(auth=Token(URL, 'a-token'), session=transport))

    def writes(self):
        return [line for line in self.requests if not line.startswith('GET')]

    def send(self, request, *args, **kwargs):
        parts = urlsplit(request.url)
        path = [unquote(part) for part in parts.path.removeprefix('/placement/').split('/')]
        self.requests.append(f'{request.method} /{"/".join(path)}')
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = json.loads(request.body) if request.body else None
        reply = self._faulty(request, lambda: self._carry_out(request.method, path, query, body))
        response = requests.Response()
        response.status_code, response.request, response.url = reply.status, request, request.url
        response._content = json.dumps(reply.body).encode() if reply.body is not None else b''
        response.headers.update({'x-openstack-request-id': 'req-1', **reply.headers})
        return response

    def close(self):
        pass

    def _faulty(self, request, carry_out):
        for index, each in enumerate(self.faults):
            if each.method != request.method or each.part not in request.url:
                continue
            self._seen[index] = number = self._seen.get(index, 0) + 1
            if not each.number <= number < each.number + each.times:
                continue
            if each.before:
                each.before(self)
            if each.is_sent:
                carry_out()
            if each.is_lost:
                raise requests.ConnectionError('the connection was reset')
            if each.answer:
                return each.answer
        return carry_out()

    def _carry_out(self, method, path, query, body):
        match method, path:
            case 'POST', ['reshaper']:
                return self._reshape(body)
            case 'GET', ['resource_providers']:
                return self._list(query)
            case 'POST', ['resource_providers']:
                return self._create(body)
            case 'GET', ['allocations', uuid]:
                return self._consumer(uuid)
            case 'PUT', ['traits' | 'resource_classes', _]:
                return Reply(201)
            case _, ['resource_providers', uuid, *rest]:
                if uuid not in self.providers:
                    return fault(404, f'No resource provider with uuid {uuid} found')
                return self._of_provider(method, self.providers[uuid], rest, body)
        raise AssertionError(f'{method} {path}')

    def _list(self, query):
        found = list(self.providers.values())
        if 'name' in query:
            found = [each for each in found if each.name == query['name']]
        if 'in_tree' in query:
            member = self.providers.get(query['in_tree'])
            found = [each for each in found if member and each.root == member.root]
        return Reply(200, {'resource_providers': [each.shown() for each in found]})

    def _create(self, body):
        if any(body['name'] == each.name for each in self.providers.values()):
            return fault(409, 'Conflicting resource provider name', 'placement.duplicate_name')
        parent = self.providers[body['parent_provider_uuid']]
        made = Provider(body['uuid'], body['name'], parent.uuid, parent.root)
        self.providers[made.uuid] = made
        return Reply(200, made.shown())

    def _of_provider(self, method, provider, rest, body):
        match method, rest:
            case 'DELETE', []:
                if self._held(provider.uuid):
                    code = 'placement.resource_provider.inuse'
                    return fault(409, 'has allocations', code)
                del self.providers[provider.uuid]
                return NOTHING
            case 'GET', []:
                return Reply(200, provider.shown())
            case 'GET', [kind]:
                content = self._content(provider, kind)
            case 'PUT', [('traits' | 'aggregates') as kind]:
                if body['resource_provider_generation'] != provider.generation:
                    return fault(409, 'generation conflict', STALE)
                setattr(provider, kind, set(body[kind]))
                provider.generation += 1
                content = {kind: body[kind]}
            case _:
                raise AssertionError(f'{method} {rest}')
        return Reply(200, {**content, 'resource_provider_generation': provider.generation})

    def _content(self, provider, kind):
        held = self._held(provider.uuid)
        if kind == 'allocations':
            return {kind: held}
        if kind == 'usages':
            used: dict[str, int] = dict.fromkeys(provider.inventories, 0)
            for each in held.values():
                for name, amount in each['resources'].items():
                    used[name] += amount
            return {kind: used}
        value = getattr(provider, kind)
        return {kind: sorted(value) if isinstance(value, set) else value}

    def _held(self, provider_uuid):
        return {
            uuid: {
                'resources': each.allocations[provider_uuid],
                'consumer_generation': each.generation,
            }
            for uuid, each in self.consumers.items()
            if provider_uuid in each.allocations
        }

    def _consumer(self, uuid):
        if uuid not in self.consumers:
            return Reply(200, {'allocations': {}})
        each = self.consumers[uuid]
        allocations = {
            rp: {'generation': self.providers[rp].generation, 'resources': held}
            for rp, held in each.allocations.items()
        }
        owner = {'project_id': each.project, 'user_id': each.user}
        kinds = {'consumer_generation': each.generation, 'consumer_type': each.type or 'unknown'}
        return Reply(200, {'allocations': allocations, **owner, **kinds})

    def _reshape(self, body):
        if not body:
            return fault(400, "'inventories' is a required property")
        inventories, allocations = body['inventories'], body['allocations']
        refusal = self._conflict(inventories, allocations)
        if refusal is not None:
            return refusal
        for uuid, given in inventories.items():
            self.providers[uuid].inventories = given['inventories']
            self.providers[uuid].generation += 2
        for uuid, given in allocations.items():
            each = self.consumers[uuid]
            each.allocations = {rp: a['resources'] for rp, a in given['allocations'].items()}
            each.generation += 1
        return NOTHING

    def _conflict(self, inventories, allocations):
        for uuid, given in inventories.items():
            if given['resource_provider_generation'] != self.providers[uuid].generation:
                return fault(409, 'resource provider generation conflict', STALE)
        for uuid, given in allocations.items():
            there = self.consumers.get(uuid)
            if there is None or given['consumer_generation'] != there.generation:
                return fault(409, 'consumer generation conflict', STALE)
        for uuid, given in inventories.items():
            removed = self.providers[uuid].inventories.keys() - given['inventories'].keys()
            for consumer, held in self._held(uuid).items():
                if consumer not in allocations and removed & held['resources'].keys():
                    return fault(409, 'Inventory is in use', 'placement.inventory.inuse')
        return None
