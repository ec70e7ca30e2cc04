"""Write plain values as YAML that `reader` reads back unchanged: no anchors, and quotes where needed."""

from __future__ import annotations

from typing import Any

import yaml

from streamconform.errors import Problem, SourceError
from streamconform.yaml_text import reader

_WIDTH = 110


class Flow(list[Any]):
    """A list to be written on one line."""


class FlowMap(dict[str, Any]):
    """A mapping to be written on one line."""


class _Dumper(yaml.SafeDumper):
    """A dumper whose output `reader` accepts: no anchors, no ambiguous text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True, so that an object that occurs twice is written out twice."""
        del data
        return True


def dump(value: Any, name: str) -> str:
    """Return YAML that `reader` reads back as `value`.

    For text that YAML cannot represent, raises a `SourceError` in which the value is called `name`.
    """
    # Unicode is written unescaped unless a reader would change it (such as U+2028).
    for unicode in (True, False):
        text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=unicode, width=_WIDTH)
        try:
            if reader.parse(text.encode(), "").value == value:
                return text
        except (SourceError, UnicodeEncodeError):
            continue
    raise SourceError((Problem(name, None, "contains text that YAML cannot represent"),))


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    # PyYAML quotes what YAML 1.1 readers misread; our reader follows YAML 1.2, which differs (`0o17`, `1e5`).
    style = '"' if "\n" in text or reader.is_ambiguous(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(
    Flow, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)
)
_Dumper.add_representer(
    FlowMap, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True)
)
