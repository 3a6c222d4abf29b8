"""XML from hosts and databases, which is not trusted: depth and count have limits."""

from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

from placementclient.client import errors

#: How deep elements may be nested, and how many there may be: of 100,000 rows with 9 fields.
MOST_LEVELS = 64
MOST_ELEMENTS = 1_000_000


class _DocumentTooLarge(Exception):
    """A document has more than it may have."""


class _BoundedTreeBuilder(TreeBuilder):
    """Builds a tree, and stops where it becomes too large."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._count = 0

    def start(self, tag: str, attributes: Any, /) -> Element:
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > MOST_LEVELS:
            raise _DocumentTooLarge('nested too deeply')
        if self._count > MOST_ELEMENTS:
            raise _DocumentTooLarge(f'has more than {MOST_ELEMENTS} elements')
        return super().start(tag, attributes)

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(tag)


def parsed(content: bytes | str, path: str) -> Element:
    """Return the root of a document.

    :raises errors.BadFile: if it is no XML, too large or too deep, or declares a document type
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import XMLParser

    # Neither entities nor anything from elsewhere, which is what a bomb is made of.
    parser = XMLParser(target=_BoundedTreeBuilder(), forbid_dtd=True)
    try:
        parser.feed(content)
        root: Element = parser.close()
    except DefusedXmlException:
        raise errors.BadFile(path, 'declares entities or a document type: not read') from None
    except _DocumentTooLarge as reason:
        raise errors.BadFile(path, str(reason)) from None
    except (SyntaxError, ValueError, RecursionError) as reason:
        line = getattr(reason, 'position', (None,))[0]
        raise errors.BadFile(path, 'not XML, or not complete', line) from None
    return root
