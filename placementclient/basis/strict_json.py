# SPDX-License-Identifier: Apache-2.0
"""JSON decoded to typed values; duplicate keys are faults."""

import json
import re
from typing import Annotated, Any

import msgspec

#: An integer as databases have them; JSON has integers of any length.
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
#: How msgspec names the place of a fault: ``Expected `int`, got `str` - at `$.trees[0].amount```.
_PLACE = re.compile(r'(?P<reason>.*?) - at `(?:key in )?\$\.?(?P<place>.*)`', re.DOTALL)


class InvalidJSON(ValueError):
    """A text is not JSON, or has the wrong type."""


def decode_json(content: bytes, kind: Any = Any) -> Any:
    """Return the value that a text of JSON has.

    :param kind: the type that the value must have
    :raises InvalidJSON: if the text is not JSON of this type; its message names the place
    """
    try:
        value = msgspec.json.decode(content, type=kind)
        refuse_duplicate_keys(content)
    except RecursionError:
        raise InvalidJSON('nested too deeply') from None
    except msgspec.ValidationError as fault:
        raise InvalidJSON(describe_fault(str(fault))) from None
    except (msgspec.DecodeError, json.JSONDecodeError, UnicodeError):
        raise InvalidJSON('no JSON') from None
    return value


def refuse_duplicate_keys(content: bytes) -> None:
    """Refuse an object of JSON with a key twice, of which msgspec would take the last value.

    :raises InvalidJSON: if there is one, or an integer that Python does not read
    :raises ValueError: if the text is not JSON
    """
    try:
        # Nothing is built of it: this takes half as long as what builds dictionaries.
        json.loads(content, object_pairs_hook=_refuse_duplicate_pairs)
    except (InvalidJSON, json.JSONDecodeError, UnicodeError):
        raise
    except ValueError:
        # Python reads integers of up to 4300 digits.
        raise InvalidJSON('an integer has too many digits') from None


def _refuse_duplicate_pairs(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidJSON(f'the key {twice[:80]!r} appears twice')


def describe_fault(reason: str, name: str = '') -> str:
    """Return a message of msgspec with the place first: ``trees[3].amount: expected int, got str``.

    :param name: the place of the decoded value in its document; empty: it is the whole document
    """
    match = _PLACE.fullmatch(reason)
    sentence, place = (match['reason'], match['place']) if match else (reason, '')
    where = '.'.join(part for part in (name, place) if part).replace('.[', '[')
    sentence = sentence[:1].lower() + sentence[1:].replace('`', '')
    return f'{where}: {sentence}' if where else sentence
