# SPDX-License-Identifier: Apache-2.0
"""Records of the lists of other services, which are also the schema of those lists."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

#: The largest amount that Nova's database holds.
MOST = 2**31 - 1

String = Annotated[str, msgspec.Meta(max_length=255)]
OptionalString = String | None
Quantity = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Limit = Annotated[int, msgspec.Meta(ge=-1, le=MOST)]
#: An amount that Nova counts as used: it subtracts, so that it may be below 0.
Balance = Annotated[int, msgspec.Meta(ge=-MOST, le=MOST)]
#: Extra specs, and the properties of images.
Texts = Mapping[String, str]


class ListRecord(msgspec.Struct, frozen=True):
    """A record of a list; a subclass has its fields.

    A field whose default is ``UNSET`` keeps apart what the list does not say and what is null.

    :cvar key: the name of the list in the answer of the API
    :cvar aliases: other names of fields, with the field of each
    :cvar unique: the fields of which no two records may have the same value
    :cvar lower: the fields that are read in small letters
    :cvar texts: the fields with a mapping of texts, which OpenStackClient may print as one text
    :cvar marks: the fields of which each record has at least one, so that no other list is taken
        for this one; a record with nothing but its own fields needs none
    :cvar others: the fields that a record may have beside its own
    :cvar partial: a record with these values of fields needs no mark, as the list says no more of
        it
    :cvar is_never_empty: whether each cloud has some, so that an empty file is a mistake
    :cvar source: the command or the request that makes the list
    """

    key: ClassVar[str]
    aliases: ClassVar[Mapping[str, str]] = {}
    unique: ClassVar[tuple[str, ...]] = ('id',)
    lower: ClassVar[tuple[str, ...]] = ()
    texts: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[str, ...]] = ()
    others: ClassVar[tuple[str, ...]] = ()
    partial: ClassVar[Mapping[str, str]] = {}
    is_never_empty: ClassVar[bool] = False
    source: ClassVar[str] = ''
