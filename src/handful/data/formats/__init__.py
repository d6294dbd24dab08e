"""One file a format: `read(path) -> Document`, and `write(document, path)` where the format is also written."""
