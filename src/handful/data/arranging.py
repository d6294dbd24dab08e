"""Documents put in another order."""

from __future__ import annotations

from dataclasses import replace

from handful.data.document import Document


def grouped_by_intent(document: Document) -> Document:
    """The same content with each intent's examples together, as a person would write them."""
    first = {}
    for utterance in document.utterances:
        first.setdefault(utterance.intent, len(first))
    order = sorted(range(len(document.utterances)), key=lambda i: first[document.utterances[i].intent])
    metadata = {
        new: document.example_metadata[old] for new, old in enumerate(order) if old in document.example_metadata
    }
    return replace(document, utterances=tuple(document.utterances[i] for i in order), example_metadata=metadata)
