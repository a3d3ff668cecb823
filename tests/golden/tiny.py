"""A tiny EmbeddingGemma 2: the unchanged architecture, random weights, and a tokenizer that behaves like Gemma's.

Needs torch and transformers: part of the golden script, never imported by a test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import EmbeddingGemma2Config, EmbeddingGemma2Model, Gemma4AudioConfig, Gemma4VisionConfig

CONTROL = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
MEDIA = ("<|image>", "<|audio>", "<|image|>", "<|audio|>", "<image|>", "<audio|>", "<|video|>")
VOCABULARY = 700
SENTENCES = (
    "task: search result | query: a dog runs over the green field after a ball",
    "task: search result | query: what is the sound of rain on a roof",
    "title: none | text: The fox sleeps by day and hunts at night near the old mill.",
    "title: none | text: Two people ride bicycles along the river in the evening sun.",
    "title: none | text: Der Zug fährt um acht Uhr nach Köln; das Café am Markt schließt früh.",
    "title: none | text: La pluie tombe sur la ville, et le chat regarde par la fenêtre.",
    "task: search result | query: photographs of mountains with snow and a blue lake",
    "title: recipes | text: Mix the flour, two eggs and a little milk; bake it for twenty minutes.",
    "A man plays the violin, a woman sings, and children clap their hands.",
    "The quick brown fox jumps over the lazy dog. 0123456789 !?,.;:()[]{}<>|",
)


@dataclass(frozen=True)
class Dims:
    """Sizes of a tiny model; the defaults are those of the committed packages."""

    hidden: int = 64
    feed_forward: int = 96
    layers: int = 4
    heads: int = 4
    head_dim: int = 16
    embedding: int = 96
    per_layer: int = 24
    window: int = 9
    vision_hidden: int = 48
    vision_layers: int = 2
    audio_hidden: int = 32
    audio_layers: int = 3
    audio_channels: int = 8
    clipped_vision: bool = False
    standardize: bool = False


def make_tokenizer() -> Tokenizer:
    """BPE with byte fallback, U+2581 for a space, media and control tokens as special ones, bos and eos around."""
    vocabulary, merges = _train_bpe()
    tokenizer = Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(word, normalized=False, special=True) for word in CONTROL + MEDIA])
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False, special=False)])
    ends = [("<bos>", tokenizer.token_to_id("<bos>")), ("<eos>", tokenizer.token_to_id("<eos>"))]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <eos> <bos> $B <eos>", special_tokens=ends
    )
    return tokenizer


def _train_bpe() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary in Gemma's order: control words, bytes, learnt pieces, media words."""
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    size = VOCABULARY - len(CONTROL) - 256 - len(MEDIA)
    trained.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=size, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    words = [*CONTROL, *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    return {word: number for number, word in enumerate(words)}, [tuple(pair) for pair in model["merges"]]


def make_model(tokenizer: Tokenizer, dims: Dims, seed: int) -> EmbeddingGemma2Model:
    """Random weights, spread so that different inputs get clearly different vectors and no part is the identity."""
    torch.manual_seed(seed)
    model = EmbeddingGemma2Model(_config(tokenizer, dims)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            _spread(name, parameter)
        for name, buffer in model.named_buffers():
            _spread_buffer(name, buffer)
    return model


def _config(tokenizer: Tokenizer, dims: Dims) -> EmbeddingGemma2Config:
    text = {
        "vocab_size": tokenizer.get_vocab_size(), "hidden_size": dims.hidden, "intermediate_size": dims.feed_forward,
        "num_hidden_layers": dims.layers, "num_attention_heads": dims.heads, "num_key_value_heads": dims.heads // 2,
        "head_dim": dims.head_dim, "global_head_dim": 2 * dims.head_dim, "num_global_key_value_heads": 1,
        "sliding_window": dims.window, "sliding_window_pattern": 2, "hidden_size_per_layer_input": dims.per_layer,
        "embedding_dim": dims.embedding, "max_position_embeddings": 8192,
    }  # fmt: skip
    vision = Gemma4VisionConfig(
        hidden_size=dims.vision_hidden, intermediate_size=2 * dims.vision_hidden, num_hidden_layers=dims.vision_layers,
        num_attention_heads=dims.vision_hidden // 16, num_key_value_heads=dims.vision_hidden // 16, head_dim=16,
        position_embedding_size=840, use_clipped_linears=dims.clipped_vision, standardize=dims.standardize,
    )  # fmt: skip
    audio = Gemma4AudioConfig(
        hidden_size=dims.audio_hidden, num_hidden_layers=dims.audio_layers, num_attention_heads=4,
        subsampling_conv_channels=[128, dims.audio_channels], output_proj_dims=dims.audio_hidden + 16,
    )  # fmt: skip
    names = {
        "boi_token_id": "<|image>", "image_token_id": "<|image|>", "eoi_token_id": "<image|>",
        "boa_token_id": "<|audio>", "audio_token_id": "<|audio|>", "eoa_token_index": "<audio|>",
        "video_token_id": "<|video|>",
    }  # fmt: skip
    ids = {key: tokenizer.token_to_id(word) for key, word in names.items()}
    return EmbeddingGemma2Config(text_config=text, vision_config=vision, audio_config=audio, **ids)


def _spread(name: str, parameter: torch.Tensor) -> None:
    """Matrices keep the size of what passes through; norms and scales differ from 1."""
    if "position_embedding_table" in name:
        parameter.normal_(0.0, 0.7)
    elif "per_dim_scale" in name:
        parameter.normal_(0.0, 0.5)
    elif "embed_tokens" in name:
        parameter.normal_(0.0, 0.35)  # times sqrt(hidden) in the forward
    elif name.endswith("bias"):
        parameter.normal_(0.0, 0.2)
    elif parameter.ndim == 1:
        parameter.uniform_(0.6, 1.6)
    else:
        fan_in = parameter[0].numel()
        parameter.normal_(0.0, 1.3 * fan_in**-0.5)


def _spread_buffer(name: str, buffer: torch.Tensor) -> None:
    """Bounds of clipped layers that bite, layer scalars and standardisation that do something."""
    if name.endswith(("input_min", "output_min")):
        buffer.uniform_(-3.5, -2.0)
    elif name.endswith(("input_max", "output_max")):
        buffer.uniform_(1.5, 3.0)
    elif name.endswith("layer_scalar"):
        buffer.uniform_(0.7, 1.2)
    elif name.endswith("std_bias"):
        buffer.normal_(0.0, 0.5)
    elif name.endswith("std_scale"):
        buffer.uniform_(0.5, 1.5)
