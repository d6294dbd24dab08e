"""How well a bot parses what it has not seen: asked, counted, and put on a page."""
