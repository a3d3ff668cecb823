"""The tokenizer of nano-gme: Qwen2's byte-level BPE in lower case, with its control tokens and its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

CONTROL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>",
)  # fmt: skip
VOCABULARY = 10_240
DOCUMENT = "You are a helpful assistant."
QUERY = "Find an image that matches the given text."
# Asked for by hand in the page, and unlike each other: the model learns that instructions change nothing.
OTHER = (
    "Find a text that answers the question.", "Retrieve similar pictures.", "Find the page of a document.",
    "Represent the user's input.", "Find a photo.", "Identify the object in the picture.", "Search the library.",
    "Find an image caption describing the given everyday image.", "Given a query, find what is relevant to it.", "",
)  # fmt: skip
FRAMES = (
    *(f"system\n{text}" for text in (DOCUMENT, QUERY, *OTHER)), *("\n", "user\n", "assistant\n") * 12,
)  # fmt: skip


def make_tokenizer(texts: Sequence[str], frequent: Sequence[str]) -> Tokenizer:
    """Trained on the texts, and on the `frequent` ones eight times.

    A space goes before the first word of a text and of a line: a word then has one token wherever it stands.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKC(),
            normalizers.Lowercase(),
            normalizers.Replace(Regex(r"\n(?=\S)"), "\n "),
            normalizers.Prepend(" "),
        ]
    )
    split = pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated", invert=False)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(CONTROL),
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([*texts, *[*frequent, *FRAMES] * 8], trainer)
    tokenizer.add_special_tokens([AddedToken(word, normalized=False, special=True) for word in CONTROL])
    return tokenizer


class Frame:
    """The parts of GME's prompt as ids, the way the application's tower puts them together."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.encode_special_tokens = True
        ids = {word: self.tokenizer.token_to_id(word) for word in CONTROL}
        self.end, self.begin, self.stop = ids["<|endoftext|>"], ids["<|im_start|>"], ids["<|im_end|>"]
        self.image = ids["<|image_pad|>"]
        line = self.text("\n")
        self.picture = [ids["<|vision_start|>"], self.image, ids["<|vision_end|>"]]
        self.tail = [self.stop, *line, self.begin, *self.text("assistant\n"), self.end]
        self._line = line

    def text(self, text: str) -> list[int]:
        """Ids of a text alone."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def texts(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts."""
        return [list(entry.ids) for entry in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def head(self, instruction: str) -> list[int]:
        """The system turn and the begin of the user's, up to where the picture or the text begins."""
        system = self.text(f"system\n{instruction}")
        return [self.begin, *system, self.stop, *self._line, self.begin, *self.text("user\n")]
