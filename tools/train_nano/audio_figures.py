"""Held-out figures of the packed audio tower, through the application's own path from wav files."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from embedding import Embedder, load_embedder
from embedding.media import decode_audio
from tools.train_nano.audio import encoder_of
from tools.train_nano.audio_data import held_out_lines, training_lines
from tools.train_nano.audio_evaluate import nearest_neighbour, resampled, trimmed
from tools.train_nano.audio_features import compile_features, say
from tools.train_nano.audio_held_out import KINDS
from tools.train_nano.audio_sources import ABOUT, emoji_folder, joe_folder
from tools.train_nano.audio_voices import HELD_OUT, Voice, speak
from tools.train_nano.audio_words import WORDNET, everyday_names, spoken, template_sentences
from tools.train_nano.evaluate import embed_pictures, embed_texts, recall
from tools.train_nano.pictures import unseen_style

Vectors = NDArray[np.float32]
Recall = dict[str, float]
VOICES = ("slt", "annie")
DISTRACTORS = 1000


def write_waves(work: Path) -> dict[str, list[tuple[str, Path]]]:
    """Every held-out clip as a 16-bit wav file -> for each set its (words, path)."""
    root, found = work / "audio" / "waves", {}
    for kind in ("names", "talk"):
        lines = held_out_lines(emoji_folder(work), kind)
        half = len(lines) // 2
        for voice, part in zip(VOICES, (lines[:half], lines[half:]), strict=True):
            found[f"{kind}-{voice}"] = [
                (line.text, _wave(root / f"{kind}-{voice}" / f"{i:04d}.wav", partial(say, line, joe_folder(work))))
                for i, line in enumerate(part)
            ]
    for kind, clips in KINDS.items():
        found[kind] = [
            (t, _wave(root / kind / f"{i:04d}.wav", partial(np.asarray, a))) for i, (t, a) in enumerate(clips(work))
        ]
    return found


def _wave(path: Path, make: Callable[[], NDArray[np.float32]]) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, make(), 16_000, subtype="PCM_16")
    return path


def embed_sounds(embedder: Embedder, paths: Sequence[Path]) -> Vectors:
    """Vectors of sound files, decoded as the application does it; raises when one fails."""
    found = [embedder.embed([decode_audio(path)]) for path in paths]
    if any(result.failures for result in found):
        raise RuntimeError("a sound failed")
    return np.concatenate([result.vectors for result in found])


def against(embedder: Embedder, rows: Vectors, words: Sequence[str], pool: Sequence[str]) -> Recall:
    """Recall of the written words among a pool of other words."""
    items = list(dict.fromkeys([*pool, *words]))
    return recall(rows, embed_texts(embedder, items, "document"), [items.index(word) for word in words])


def entries(sentences: set[str]) -> tuple[dict[str, int], list[str]]:
    """Dictionary entries as documents: where each sentence is an example, then as many others -> (place, documents)."""
    place: dict[str, int] = {}
    documents: list[str] = []
    others: list[str] = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in (WORDNET / f"data.{part}").open(encoding="utf-8"):
            if line.startswith(" ") or '"' not in line:
                continue
            facts, gloss = line.split(" | ", 1)
            document = f"{facts.split()[4].replace('_', ' ')}: {gloss.strip()}"
            owned = [spoken(q) for q in re.findall(r'"([^"]+)"', gloss) if spoken(q) in sentences]
            if owned:
                place |= dict.fromkeys(owned, len(documents))
                documents.append(document)
            else:
                others.append(document)
    return place, documents + others[:: max(1, len(others) // DISTRACTORS)]


def spoken_documents(embedder: Embedder, rows: Vectors, words: list[str]) -> Recall:
    """Spoken example sentences against the dictionary entries that hold them."""
    place, documents = entries(set(words))
    kept = [i for i, word in enumerate(words) if word in place]
    return recall(rows[kept], embed_texts(embedder, documents, "document"), [place[words[i]] for i in kept])


def everyday_documents(embedder: Embedder, rows: Vectors, sentences: list[str], emoji: Path) -> Recall:
    """Spoken everyday sentences against documents of three sentences, one of which is the spoken one."""
    others = template_sentences(emoji, 2 * (DISTRACTORS + len(sentences)), 123)
    pairs = [f"{a.capitalize()}. {{}}{b.capitalize()}." for a, b in zip(others[::2], others[1::2], strict=True)]
    documents = [frame.format(f"{sentence.capitalize()}. ") for frame, sentence in zip(pairs, sentences, strict=False)]
    documents += [frame.format("") for frame in pairs[len(sentences) :]]
    return recall(rows, embed_texts(embedder, documents, "document"), range(len(sentences)))


def neighbours(work: Path) -> dict[str, Recall]:
    """The baseline: two clean clips of each name in training voices; an unseen clip takes the name of the nearest."""
    run, joe, emoji = compile_features(encoder_of(work)), joe_folder(work), emoji_folder(work)
    names = everyday_names(emoji)

    def seen(text: str, voice: Voice) -> Vectors:
        return resampled(run(trimmed(speak(text, voice, joe)))[0])

    lines = training_lines(emoji, "names")[: 2 * len(names)]
    known = np.stack([seen(line.text, line.voice) for line in lines])
    found = {}
    for voice, short in zip(HELD_OUT, VOICES, strict=True):
        asked = np.stack([seen(name, Voice(voice)) for name in names])
        places = ([names.index(line.text) for line in lines], list(range(len(names))))
        found[f"spoken_name_{short}_nearest_neighbour"] = nearest_neighbour(known, asked, places, len(names))
    return found


def latency(embedder: Embedder) -> dict[str, float]:
    """Milliseconds of one second and of thirty, the median of several calls."""
    found = {}
    rng = np.random.default_rng(0)
    for seconds, calls in ((1, 30), (30, 5)):
        from embedding import Audio

        sound = Audio(np.asarray(rng.standard_normal(16_000 * seconds) * 0.1, np.float32), 16_000)
        times = []
        for _ in range(calls):
            start = time.perf_counter()
            embedder.embed([sound])
            times.append(time.perf_counter() - start)
        found[f"{seconds}s_ms"] = round(1000 * float(np.median(times)), 1)
        found[f"{seconds}s_ms_best"] = round(1000 * min(times), 1)
    return found


def measure(work: Path, embedder: Embedder) -> dict[str, object]:
    waves = write_waves(work)
    names = everyday_names(emoji_folder(work))
    rows = {kind: embed_sounds(embedder, [path for _, path in clips]) for kind, clips in waves.items()}
    words = {kind: [text for text, _ in clips] for kind, clips in waves.items()}
    known = [i for i, word in enumerate(words["held-human"]) if word in names]
    pictures = unseen_style(work)
    pixels = embed_pictures(embedder, pictures)
    labels = [spoken(item.name) for item in pictures]
    found: dict[str, object] = {}
    for voice in VOICES:
        saying = words[f"names-{voice}"]
        seen = [i for i, word in enumerate(saying) if word in labels]
        places = [labels.index(saying[i]) for i in seen]
        found[f"spoken_name_{voice}"] = against(embedder, rows[f"names-{voice}"], saying, names)
        found[f"spoken_name_to_picture_{voice}"] = recall(rows[f"names-{voice}"][seen], pixels, places)
        found[f"spoken_sentence_{voice}"] = against(embedder, rows[f"talk-{voice}"], words[f"talk-{voice}"], [])
        talk, half = f"talk-{voice}", len(words[f"talk-{voice}"]) // 2
        found[f"spoken_everyday_sentence_to_document_{voice}"] = everyday_documents(
            embedder, rows[talk][half:], words[talk][half:], emoji_folder(work)
        )
        found[f"spoken_dictionary_sentence_to_entry_{voice}"] = spoken_documents(embedder, rows[talk], words[talk])
    written = embed_texts(embedder, words["talk-slt"], "query")
    found["written_dictionary_sentence_to_entry"] = spoken_documents(embedder, written, words["talk-slt"])
    half = len(written) // 2
    found["written_everyday_sentence_to_document"] = everyday_documents(
        embedder, written[half:], words["talk-slt"][half:], emoji_folder(work)
    )
    human, stamps, sounds = "held-human", "held-stamps", "held-sounds"
    found["human_words"] = against(embedder, rows[human][known], [words[human][i] for i in known], names)
    found["human_words_all"] = against(embedder, rows[human], words[human], names)
    plain = [re.sub(r"^(a|an|two|a red|a brown) ", "", spoken(text)) for text in words[stamps]]
    found["human_captions"] = against(embedder, rows[stamps], plain, names)
    scratch = [i for i in range(len(words[sounds])) if i < 35]
    found["real_sounds"] = against(embedder, rows[sounds][scratch], [words[sounds][i] for i in scratch], names)
    found["real_animals"] = against(embedder, rows[sounds][35:], words[sounds][35:], names)
    found["latency"] = latency(embedder)
    return found | neighbours(work) | {"about": dict(ABOUT)}


def evaluate(work: Path, models: Path | None = None) -> dict[str, object]:
    """Measure the built-in package and write `audio/figures.json`."""
    with load_embedder("nano", "int8", "CPU", models) as embedder:
        found = measure(work, embedder)
    (work / "audio" / "figures.json").write_text(json.dumps(found, indent=1), "utf-8")
    for name, value in found.items():
        print(f"{name}: {value}")
    return found
