"""Documents that people edit, as YAML or JSON text; :mod:`planner.spec.documents` reads both."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

#: What JSON may have as it is and YAML may not, or folds: control characters, line breaks of
#: Unicode, a byte order mark, halves of pairs.
_ESCAPED = re.compile('[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]')


class _Dumper(yaml.SafeDumper):
    """Writes each value where it stands, and escapes what YAML would fold or refuse."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML quotes what would be a number or a date; U+0085 alone it takes for a line's end.
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar('tag:yaml.org,2002:str', text, style=style)


_Dumper.add_representer(str, _represented)


def yaml_text(document: Any) -> str:
    """Return a document of mappings, lists, texts and numbers as YAML."""
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def json_text(document: Any) -> str:
    """Return it as JSON that is YAML too: a pair of escapes is one character for JSON only."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f'\\u{ord(match[0]):04x}', text) + '\n'
