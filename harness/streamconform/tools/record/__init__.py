"""Record exchanges with live servers, and import captures, as cassettes with draft specs."""
