"""Packages of the real sizes with RANDOM weights: speed and memory can be measured where nothing can be downloaded.

python -m tools.benchmarks.make_full_size gme int4 --out DIR     (gme: fp16, int8, int4; gemma: fp16, int8)
python -m tools.benchmarks --model random-gme-qwen2-vl-2b --precision int4 --models-dir DIR

Shapes, graphs, storage of weights and calibration are those of the real packages; the vectors mean nothing. The
tokenizer is learnt from the sample library (its ids are lower than the real ones). Needs requirements-export.txt.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import openvino as ov
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import nn
from transformers import EmbeddingGemma2Config, EmbeddingGemma2Model, Qwen2VLConfig
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel, Qwen2VLTextModel

from embedding.catalog import card_named
from embedding.export.gme import WORDS, GmeAbout, Storage, gme_job
from embedding.export.package import About, write_package
from embedding.export.pipeline import Workshop
from embedding.export.towers_gme import embeddings_graph, language_graph, vision_graph
from embedding.types import Precision

LIBRARY = Path(__file__).resolve().parents[2] / "assets" / "library" / "documents"
RANDOM = "Random weights in the real sizes, to measure speed and memory; its vectors mean nothing."
PIECES = 4000
TEXT = {
    "vocab_size": 151_936, "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28,
    "num_attention_heads": 12, "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "max_position_embeddings": 32_768,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
}  # fmt: skip
VISION = {"depth": 32, "embed_dim": 1280, "hidden_size": 1536, "num_heads": 16}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=("gemma", "gme"))
    parser.add_argument("precision", choices=("fp16", "int8", "int4"))
    parser.add_argument("--out", type=Path, required=True, help="models folder that gets the package")
    parser.add_argument("--layers", type=int, help="fewer layers, for a try")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    make = {"gemma": gemma, "gme": gme}[options.family]
    folder = make(Precision(options.precision), options.out, options.layers)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 1e9:.2f} GB, {_peak()}")


def gme(precision: Precision, out_dir: Path, layers: int | None) -> Path:
    """GME Qwen2-VL 2B, a part at a time."""
    config = Qwen2VLConfig(
        text_config={**TEXT, "num_hidden_layers": layers or TEXT["num_hidden_layers"]},
        vision_config={**VISION, "depth": layers or VISION["depth"]},
    )
    text = config.text_config
    makers: dict[str, Callable[[], ov.Model]] = {
        "vision": lambda: vision_graph(_random(Qwen2VisionTransformerPretrainedModel(config.vision_config))),
        "embeddings": lambda: embeddings_graph(_random(nn.Embedding(text.vocab_size, text.hidden_size))),
        "language": lambda: language_graph(_random(_language(text))),
    }
    card = card_named("gme-qwen2-vl-2b")
    name = f"random-{card.name}"
    listed = {"title": "GME in size, random", "description": RANDOM, "licence": "CC0-1.0"}
    about = GmeAbout(name, text.hidden_size, card.prompts, listed=listed)
    job = replace(gme_job(makers, _tokenizer(), about, Storage(precision), identity={"layers": layers}), drift=None)
    return Workshop(job, out_dir / f"{name}-{precision}", lambda line: print(f"{line} ({_peak()})", flush=True)).run()


def gemma(precision: Precision, out_dir: Path, layers: int | None) -> Path:
    """EmbeddingGemma 2, whose defaults are the real sizes."""
    config = EmbeddingGemma2Config()
    if layers:
        config.vision_config.num_hidden_layers = config.audio_config.num_hidden_layers = layers
    model = _random(EmbeddingGemma2Model(config))
    name = "random-embeddinggemma-2"
    about = About(name, description=RANDOM, licence="CC0-1.0", matryoshka=(768, 512, 256, 128))
    return write_package(model, _tokenizer(), out_dir / f"{name}-{precision}", precision, about)


def _language(config: object) -> nn.Module:
    language = Qwen2VLTextModel(config)
    del language.embed_tokens  # a graph of its own
    return language


def _random(module: nn.Module) -> nn.Module:
    """Matrices that keep the size of what passes through; ones and zeros elsewhere, as made."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, parameter[0].numel() ** -0.5)
    return module.eval()


def _tokenizer() -> Tokenizer:
    """Byte-level BPE of the sample library's documents, with the control words of GME's prompt."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated", invert=False)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    tokenizer.decoder = decoders.ByteLevel()
    texts = [path.read_text(encoding="utf-8") for path in sorted(LIBRARY.iterdir())]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=PIECES, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(word, normalized=False, special=True) for word in WORDS.values()])
    return tokenizer


def _peak() -> str:
    return f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB of memory"


if __name__ == "__main__":
    main()
