# SPDX-License-Identifier: Apache-2.0
"""XML from hosts and databases, which is not trusted: the number of elements has a limit."""

from xml.etree.ElementTree import Element, TreeBuilder

from placementclient.basis import errors

#: Enough for 100,000 rows with 9 fields.
MOST_ELEMENTS = 1_000_000


class _DocumentTooLarge(Exception):
    """A document has more elements than it may have."""


class _BoundedTreeBuilder(TreeBuilder):
    """Builds an XML tree, and raises an error for a document with too many elements."""

    _count = 0

    def start(self, tag: str, attributes: dict[str, str], /) -> Element:
        """Count and open an element, as the parser asks for it."""
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise _DocumentTooLarge
        return super().start(tag, attributes)


def parse_xml(content: bytes | str, path: str) -> Element:
    """Return the root element of an XML document.

    :raises errors.BadFile: if it is no XML, too large, or declares a document type
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
    except _DocumentTooLarge:
        raise errors.BadFile(path, f'has more than {MOST_ELEMENTS} elements') from None
    except LookupError:
        raise errors.BadFile(path, 'not XML in a known encoding: UTF-8 is expected') from None
    except (SyntaxError, ValueError, RecursionError) as reason:
        line = getattr(reason, 'position', (None,))[0]
        raise errors.BadFile(path, 'not XML, or not complete', line) from None
    return root
