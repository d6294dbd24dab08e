"""What the paper prints in its Tables 3-6 and in its ablation, to stand beside what we measure.

Each row has four lines: intent accuracy at U_max 20 and 100, slot F1 at U_max 20 and 100. Copied rows have a figure for
single and joint training of SNIPS, ATIS and TOP, in this order; the others have one for each corpus.
"""

from __future__ import annotations

from typing import Literal

Metric = Literal["intent", "slot"]
CORPORA = ("snips", "atis", "top")
# Rows that the paper measured itself, with its own scorer; all others it copied from the papers of their authors.
OWN_ROWS = frozenset({"(o,o)", "(w,o)", "(w,w)", "intent-to-slot", "slot-to-intent"})
_LINES = (("intent", 20), ("intent", 100), ("slot", 20), ("slot", 100))

_FIGURES: dict[tuple[str, str], tuple[tuple[float, ...], ...]] = {
    ("GloVe", "finetune"): (
        (69.52, 70.25, 49.50, 58.26, 37.58, 40.93),
        (72.24, 73.00, 49.91, 56.07, 39.66, 41.10),
        (6.72, 6.68, 2.57, 13.22, 0.90, 0.76),
        (7.06, 7.76, 2.72, 17.20, 1.26, 0.67),
    ),
    ("GloVe", "fomaml"): (
        (61.08, 59.67, 54.66, 45.20, 33.75, 31.48),
        (66.75, 67.34, 54.92, 58.46, 33.62, 35.68),
        (14.07, 12.91, 18.44, 16.91, 5.34, 9.22),
        (16.77, 16.53, 17.80, 23.33, 4.11, 9.89),
    ),
    ("GloVe", "proto"): (
        (68.19, 68.77, 65.46, 63.91, 43.20, 38.65),
        (70.45, 72.66, 70.25, 69.58, 48.84, 46.85),
        (29.63, 27.75, 31.19, 38.45, 10.65, 18.55),
        (31.57, 31.17, 31.32, 41.07, 9.99, 18.93),
    ),
    ("ELMo", "finetune"): (
        (85.53, 87.64, 49.25, 58.69, 45.49, 47.63),
        (87.69, 88.90, 49.42, 56.99, 47.44, 48.87),
        (22.02, 16.00, 7.47, 7.19, 1.26, 1.17),
        (22.37, 17.09, 8.93, 11.09, 2.04, 1.03),
    ),
    ("ELMo", "fomaml"): (
        (78.90, 78.86, 53.90, 52.47, 38.67, 36.49),
        (80.80, 81.62, 59.10, 56.16, 41.80, 36.24),
        (33.81, 32.82, 27.58, 24.45, 22.35, 15.53),
        (36.10, 37.33, 26.91, 26.37, 18.32, 16.55),
    ),
    ("ELMo", "proto"): (
        (83.54, 85.75, 65.95, 65.19, 50.57, 50.64),
        (86.76, 87.74, 70.10, 71.89, 58.60, 56.87),
        (59.88, 59.73, 33.97, 40.90, 20.12, 28.97),
        (62.71, 62.14, 35.20, 41.28, 18.44, 28.33),
    ),
    ("BERT", "finetune"): (
        (76.04, 77.53, 43.76, 50.73, 39.21, 40.86),
        (76.66, 79.53, 44.08, 49.71, 40.05, 40.46),
        (12.47, 8.75, 9.24, 15.93, 3.15, 1.08),
        (14.71, 10.50, 11.53, 20.41, 4.98, 1.48),
    ),
    ("BERT", "fomaml"): (
        (67.36, 68.37, 50.27, 48.80, 38.50, 36.20),
        (70.43, 72.79, 51.36, 50.25, 36.15, 35.24),
        (12.72, 13.28, 18.91, 16.05, 5.93, 8.23),
        (14.99, 15.83, 17.68, 17.11, 3.37, 10.58),
    ),
    ("BERT", "proto"): (
        (81.39, 81.44, 58.84, 58.82, 52.76, 52.64),
        (83.51, 86.29, 66.89, 65.70, 61.30, 62.51),
        (42.09, 43.77, 37.61, 39.27, 20.81, 28.24),
        (46.50, 48.77, 40.63, 43.10, 20.58, 28.92),
    ),
    ("BERT", "retriever"): (
        (68.81, 49.22, 50.67),
        (71.98, 54.79, 51.78),
        (48.30, 64.14, 34.77),
        (49.39, 68.13, 37.12),
    ),
    ("BERT", "(o,o)"): (
        (84.61, 76.09, 59.63),
        (86.35, 84.92, 67.98),
        (50.03, 61.79, 38.41),
        (54.29, 59.13, 38.74),
    ),
    ("BERT", "(w,o)"): (
        (85.81, 80.37, 62.81),
        (86.46, 86.85, 68.74),
        (50.77, 62.73, 38.82),
        (54.52, 62.01, 38.40),
    ),
    ("BERT", "(w,w)"): (
        (85.15, 80.44, 62.85),
        (86.79, 86.29, 68.51),
        (52.82, 63.65, 39.92),
        (55.19, 64.95, 40.88),
    ),
    ("BERT", "intent-to-slot"): ((81.20, 72.90, 57.11), (), (49.57, 59.27, 36.12), ()),
    ("BERT", "slot-to-intent"): ((82.75, 73.57, 58.39), (), (48.95, 54.73, 34.43), ()),
}


def published(family: str, row: str, mode: str, corpus: str, u_max: int, metric: Metric) -> float | None:
    """The printed figure, or none. `family` is GloVe, ELMo or BERT; Retriever and the framework stand on BERT."""
    lines = _FIGURES.get((family, row))
    if lines is None or corpus not in CORPORA or (metric, u_max) not in _LINES:
        return None
    line, place = lines[_LINES.index((metric, u_max))], CORPORA.index(corpus)
    if len(line) == len(CORPORA):
        return line[place] if mode == "single" else None
    return line[2 * place + (mode == "joint")] if line else None


def scorer_of(row: str) -> str:
    """Whose scorer the printed figure comes from."""
    return "released" if row in OWN_ROWS else "unknown"
