"""The parser: a bot's examples in, parsed sentences out."""
