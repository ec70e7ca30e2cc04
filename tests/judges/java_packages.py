"""Where Debian's packages have Maven's plugins and the libraries of the judge in Java."""

from __future__ import annotations

from pathlib import Path
from typing import Final

REPOSITORY: Final = Path("/usr/share/maven-repo")
JARS: Final = Path("/usr/share/java")
NEEDED: Final = (
    "org/apache/maven/plugins/maven-compiler-plugin",
    "org/apache/maven/plugins/maven-resources-plugin",
    "org/apache/maven/plugins/maven-jar-plugin",
    "org/apache/maven/surefire/surefire-junit-platform",
    "org/junit/jupiter/junit-jupiter-engine",
    "com/fasterxml/jackson/core/jackson-databind",
    "org/yaml/snakeyaml",
)


def find_missing() -> str | None:
    """Return which of Debian's packages for Maven are missing, or None."""
    missing = [name.rpartition("/")[2] for name in NEEDED if not (REPOSITORY / name).is_dir()]
    return f"no {', '.join(missing)} of Debian" if missing else None
