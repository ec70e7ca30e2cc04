"""Write the names in the installed SDKs: `python -m streamconform_dev.names.write`.

`conform peers install` installs the SDKs, at the releases that the peers pin. The folder `sdk` gets one file
per API. bedrock-invoke has the events of anthropic-messages, and no file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Final

from streamconform_dev.corpus.write_shapes import OFFICIAL_TYPES, read_official_types
from streamconform_dev.names.check import FOLDER
from streamconform_dev.names.read import Names, read_type_names
from streamconform_peers.environments import find_peer

APIS: Final[Mapping[str, str]] = {
    api: types[0] for api, types in OFFICIAL_TYPES.items() if api != "bedrock-invoke"
}
"""The peer whose SDK has the types of an API."""


def main() -> None:
    """Write a file per API."""
    for api, peer_name in APIS.items():
        peer = find_peer(peer_name)
        names = read_type_names(read_official_types(api))
        path = FOLDER / f"{api}.json"
        path.write_text(format_names(f"{peer.distribution} {peer.version}", names), "utf-8")
        sys.stdout.write(f"{path.name}: {len(names)} names\n")


def format_names(sdk: str, names: Names) -> str:
    """Return the content of a file, with a line per name."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(sorted(names[name]))}" for name in sorted(names))
    return f'{{\n "sdk": {json.dumps(sdk)},\n "names": {{\n{lines}\n }}\n}}\n'


if __name__ == "__main__":
    main()
