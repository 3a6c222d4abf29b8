# SPDX-License-Identifier: Apache-2.0
"""Bytes to values; every fault is an :class:`errors.BadFile` with its position."""

import re
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from placementclient.basis import errors
from placementclient.basis.strict_json import InvalidJSON, describe_fault, refuse_duplicate_keys
from placementclient.files import kinds
from placementclient.files.texts import decode_text

T = TypeVar('T')

#: How msgspec names the place of a fault in a text that is no JSON.
_BYTE = re.compile(r'\(byte (\d+)\)')


class Envelope(msgspec.Struct):
    """The fields that identify the kind of a file."""

    format: object = None
    version: object = None


_ENVELOPE = msgspec.json.Decoder(Envelope | list | str | float | bool | None)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A JSON file to decode; its errors have the path and the line.

    :param kind: the expected kind of file
    """

    path: str
    content: bytes
    kind: errors.FileKind

    def require_kind_and_version(self, *versions: int) -> None:
        """Raise an error unless the file has the expected kind and one of some versions."""
        try:
            value = self.decode(_ENVELOPE)
        except errors.BadFile:
            kinds.refuse_other_kind(self.content, self.path, self.kind)
            if self.content.lstrip().startswith((b'{', b'[')):
                raise
            decode_text(self.content, self.path)
            raise errors.WrongFile(self.path, 'text, not JSON', self.kind) from None
        envelope = value if isinstance(value, Envelope) else Envelope()
        if envelope.format != self.kind.format:
            kinds.refuse_other_kind(self.content, self.path, self.kind)
            raise errors.WrongFile(self.path, kinds.UNKNOWN, self.kind)
        if envelope.version not in versions:
            raise self.make_error(f'{self._noun} version {envelope.version!r} is not known')

    @property
    def _noun(self) -> str:
        """The name of the kind without its article."""
        return self.kind.name.removeprefix('a ')

    def refuse_duplicate_keys(self) -> None:
        """Raise an error if an object of the file has a key twice."""
        try:
            refuse_duplicate_keys(self.content)
        except InvalidJSON as fault:
            raise self.make_error(f'damaged {self._noun}: {fault}') from None
        except (ValueError, RecursionError):
            # The decoder refuses invalid JSON, with its line.
            return

    def decode(
        self, decoder: msgspec.json.Decoder[T], item: msgspec.Raw | None = None, name: str = ''
    ) -> T:
        """Return the file, or one item of it, as a value of the decoder's type.

        :param name: the position of the item, for errors: ``trees[3]``
        """
        try:
            return decoder.decode(self.content if item is None else item)
        except RecursionError:
            raise self.make_error('nested too deeply', item) from None
        except UnicodeError:
            raise self.make_error('not UTF-8 text', item) from None
        except msgspec.ValidationError as reason:
            raise self.make_error(
                f'damaged {self._noun}: {describe_fault(str(reason), name)}', item
            ) from None
        except msgspec.DecodeError as reason:
            if 'UTF-8' in str(reason):  # msgspec 0.23; before, a UnicodeError
                raise self.make_error('not UTF-8 text', item) from None
            byte = _BYTE.search(str(reason))
            offset = int(byte[1]) if byte else len(self.content if item is None else bytes(item))
            line = self._find_line(item, offset)
            kind = self.kind
            raise errors.WrongFile(
                self.path, 'damaged or cut off', kind, kind.copy_remedy, line
            ) from None

    def make_error(self, reason: str, item: msgspec.Raw | None = None) -> errors.BadFile:
        """Return the exception for a fault of the file, with the line of an item of it.

        :param item: ``None``: the fault is of the whole file
        """
        return errors.BadFile(self.path, reason, None if item is None else self._find_line(item, 0))

    def _find_line(self, item: msgspec.Raw | None, offset: int) -> int:
        """Return the line, from 1, of a byte of an item; ``None``: of the file."""
        # The position is searched only now; an earlier equal item would have been refused before.
        begin = 0 if item is None else self.content.find(bytes(item))
        return self.content.count(b'\n', 0, begin + offset) + 1
