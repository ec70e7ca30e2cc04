"""Write plain values as YAML that `reader` reads back unchanged: no anchors, and quotes where needed.

PyYAML is imported on first use: most runs write no YAML.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from streamconform.errors import Problem, SourceError
from streamconform.yaml_text import reader

if TYPE_CHECKING:
    import yaml

_WIDTH = 110


class Flow(list[Any]):
    """A list to be written on one line."""


class FlowMap(dict[str, Any]):
    """A mapping to be written on one line."""


def dump(value: Any, name: str) -> str:
    """Return YAML that `reader` reads back as `value`.

    For text that YAML cannot represent, raises a `SourceError` in which the value is called `name`.
    """
    import yaml

    # Unicode is written unescaped unless a reader would change it (such as U+2028).
    for unicode in (True, False):
        text = yaml.dump(value, Dumper=_make_dumper(), sort_keys=False, allow_unicode=unicode, width=_WIDTH)
        try:
            if reader.parse(text.encode(), "").value == value:
                return text
        except (SourceError, UnicodeEncodeError):
            continue
    raise SourceError((Problem(name, None, "contains text that YAML cannot represent"),))


@cache
def _make_dumper() -> type[yaml.SafeDumper]:
    """Return a dumper whose output `reader` accepts: no anchors, no ambiguous text."""
    import yaml

    from streamconform.yaml_text.builder import is_ambiguous

    class Dumper(yaml.SafeDumper):
        """Writes an object that occurs twice as two objects."""

        def ignore_aliases(self, data: Any) -> bool:
            del data
            return True

    def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        # PyYAML quotes what YAML 1.1 readers misread; our reader follows YAML 1.2, which differs (`0o17`).
        style = '"' if "\n" in text or is_ambiguous(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent_text)
    Dumper.add_representer(
        Flow, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)
    )
    Dumper.add_representer(
        FlowMap, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True)
    )
    return Dumper
