"""Trains and scores our own learner, joint_spans: what each of its parts adds (on dev intents), and its figures.

python benchmarks/span_rows.py                      # all that is missing, in the order that matters
python benchmarks/span_rows.py ablation-whole-0     # these jobs only, if they are missing
python benchmarks/span_rows.py --list               # what there is to do

The ablation is scored on the dev intents of ATIS and TOP and chose the settings; the test intents were scored after it.
A job is a run (runs/spans/, not committed) and a file of records (results/joint_spans/); one that has its file is done.
"""

from __future__ import annotations

from jobs import ROOT, Job, each, main

SEEDS = (0, 1, 2)
TUNED = "tuning.steps=5"
# What is left out or changed -> the settings that do it.
VARIANTS = {
    "whole": [],
    "without-names": ["learner.without=[names]"],
    "without-nearest": ["learner.without=[nearest]"],
    "without-spans": ["learner.without=[spans]"],
    "without-neighbours": ["learner.without=[neighbours]"],
    "without-types": ["learner.without=[types]"],
    "without-borders": ["learner.without=[borders]"],
    "without-support": ["learner.support_weight=0"],
    "four-layers": ["encoder.frozen_layers=2"],
    "longer": ["epochs=8"],
}
# Settings of prediction, tried on the whole model.
PREDICTED = (["evidence=0"], ["evidence=0.1"], ["slot_repeats=free"], ["slot_repeats=free", TUNED])
SINGLE = ("snips", "atis", "top")


def ablation(variant: str, seed: int) -> Job:
    name = f"ablation-{variant}-{seed}"
    settings = [[], [TUNED]]
    if variant == "whole":
        settings += PREDICTED
    return Job(
        name,
        ROOT / "runs" / "spans" / (f"joint-{seed}" if variant == "whole" else name),
        ROOT / "results" / "joint_spans" / f"{name}.json",
        ("configs/spans.yml", *each("--set", [*VARIANTS[variant], *_seeds(seed)])),
        tuple(
            ("--data", corpus, "--split", "dev", "--episodes", "50", "--seed", "1000003", *each("--set", changes))
            for changes in settings
            for corpus in ("atis", "top")
        ),
    )


def figures(data: str, seed: int) -> Job:
    """On the test intents, at both U_max, without tuning and with it; `joint` is trained on all three corpora."""
    name = f"{data}-{seed}"
    own = [] if data == "joint" else [f"data={data}", *(["dev.episodes=0"] if data == "snips" else [])]
    return Job(
        f"test-{name}",
        ROOT / "runs" / "spans" / name,
        ROOT / "results" / "joint_spans" / f"test-{name}.json",
        ("configs/spans.yml", *each("--set", [*own, *_seeds(seed)])),
        tuple(
            ("--data", corpus, "--u-max", u_max, "--episodes", "100", "--seed", "0", *each("--set", changes))
            for u_max in ("20", "100")
            for changes in ([], [TUNED])
            for corpus in (SINGLE if data == "joint" else (data,))
        ),
    )


def _seeds(seed: int) -> list[str]:
    return [f"train_seed={seed}", f"episode_seed={seed}"]


def jobs() -> list[Job]:
    screened = [ablation(variant, 0) for variant in VARIANTS]
    survivors = [ablation("whole", seed) for seed in SEEDS[1:]]
    joint = [figures("joint", seed) for seed in SEEDS]
    single = [figures(corpus, seed) for seed in SEEDS for corpus in SINGLE]
    return screened + survivors + joint + single


if __name__ == "__main__":
    main(jobs())
