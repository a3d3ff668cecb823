"""A tiny GME: Qwen2-VL's unchanged architecture, random weights, and a tokenizer that behaves like Qwen2's.

Needs torch and transformers: part of the golden script, never imported by a test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import Qwen2VLConfig, Qwen2VLModel
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

CONTROL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>",
)  # fmt: skip
VOCABULARY = 600
SENTENCES = (
    "system\nYou are a helpful assistant.",
    "system\nFind an image that matches the given text.",
    "user\nA dog runs over the green field after a ball.",
    "user\nWhat is the colour of the sky on a clear day?\n\nassistant\n",
    "The fox sleeps by day and hunts at night near the old mill.",
    "Two people ride bicycles along the river in the evening sun.",
    "Der Zug fährt um acht Uhr nach Köln; das Café am Markt schließt früh.",
    "La pluie tombe sur la ville, et le chat regarde par la fenêtre.",
    "Mix the flour, two eggs and a little milk; bake it for twenty minutes.",
    "The quick brown fox jumps over the lazy dog. 0123456789 !?,.;:()[]{}<>|",
)


@dataclass(frozen=True)
class GmeDims:
    """Sizes of a tiny model; the defaults are those of the committed packages."""

    hidden: int = 32
    feed_forward: int = 64
    layers: int = 3
    heads: int = 4
    key_heads: int = 2
    vision_hidden: int = 32
    vision_layers: int = 2
    vision_heads: int = 2


def make_tokenizer() -> Tokenizer:
    """Byte-level BPE with Qwen2's splitting and NFC; control tokens behind the learnt pieces, all special."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated", invert=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(CONTROL),
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.add_special_tokens([AddedToken(word, normalized=False, special=True) for word in CONTROL])
    return tokenizer


def vocabulary(tokenizer: Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The learnt pieces with their ids, and the merges."""
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def make_model(tokenizer: Tokenizer, dims: GmeDims, seed: int) -> Qwen2VLModel:
    """Random weights, spread so that different inputs get clearly different vectors and no part is the identity."""
    torch.manual_seed(seed)
    model = Qwen2VLModel(_config(tokenizer, dims)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            _spread(name, parameter)
    return model


def _config(tokenizer: Tokenizer, dims: GmeDims) -> Qwen2VLConfig:
    half = dims.hidden // dims.heads // 2
    sections = [half // 4, (half - half // 4) // 2]
    text = {
        "vocab_size": tokenizer.get_vocab_size(), "hidden_size": dims.hidden, "intermediate_size": dims.feed_forward,
        "num_hidden_layers": dims.layers, "num_attention_heads": dims.heads, "num_key_value_heads": dims.key_heads,
        "rms_norm_eps": 1e-6, "max_position_embeddings": 32768,
        "rope_parameters": {
            "rope_type": "default", "rope_theta": 1e6, "mrope_section": [*sections, half - sum(sections)]
        },
    }  # fmt: skip
    vision = {
        "depth": dims.vision_layers, "embed_dim": dims.vision_hidden, "hidden_size": dims.hidden,
        "num_heads": dims.vision_heads,
    }  # fmt: skip
    names = {
        "image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>", "vision_end_token_id": "<|vision_end|>",
    }  # fmt: skip
    ids = {key: tokenizer.token_to_id(word) for key, word in names.items()}
    return Qwen2VLConfig(text_config=text, vision_config=vision, **ids)


def _spread(name: str, parameter: torch.Tensor) -> None:
    """Matrices keep the size of what passes through; norms and scales differ from 1."""
    if "embed_tokens" in name:
        parameter.normal_(0.0, 1.0)
    elif name.endswith("bias"):
        parameter.normal_(0.0, 0.2)
    elif parameter.ndim == 1:
        parameter.uniform_(0.6, 1.6)
    else:
        parameter.normal_(0.0, 1.3 * parameter[0].numel() ** -0.5)
