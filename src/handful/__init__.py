"""handful: a handful of annotated utterances in, a working intent-and-slot parser out."""

__version__ = "0.1.0"
