"""Save exchanges with live servers, and captures from other tools, as cassettes with draft specs."""
