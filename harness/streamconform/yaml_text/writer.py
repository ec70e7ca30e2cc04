"""Plain values to YAML that `yaml_text` reads back equal: no anchors, and text quoted where it must be."""

from __future__ import annotations

from typing import Any

import yaml

from streamconform.errors import Problem, SourceError
from streamconform.yaml_text import reader

WIDTH = 110


class Flow(list[Any]):
    """A list that is written in one line."""


class FlowMap(dict[str, Any]):
    """A mapping that is written in one line."""


class _Dumper(yaml.SafeDumper):
    """Writes what `yaml_text` reads: no anchors, and non-ASCII text escaped in double quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: equal objects are written out each time."""
        del data
        return True


def dump(value: Any, what: str) -> str:
    """Return YAML that loads back equal; readable Unicode where YAML's readers keep it.

    Raises `SourceError`, which names `what`, where no YAML can carry the text.
    """
    for unicode in (True, False):
        text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=unicode, width=WIDTH)
        try:
            if reader.parse(text.encode(), "").value == value:
                return text
        except (SourceError, UnicodeEncodeError):
            continue
    raise SourceError((Problem(what, None, "holds text that YAML cannot carry"),))


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    """Quote what our reader, which reads YAML 1.2, would not read as text, and text of several lines.

    PyYAML writes for YAML 1.1.
    """
    style = '"' if "\n" in text or reader.ambiguous(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(
    Flow, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)
)
_Dumper.add_representer(
    FlowMap, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True)
)
