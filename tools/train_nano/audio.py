"""The audio tower of nano, stage by stage: `python -m tools.train_nano.audio STAGE --work DIR`.

Stages: fetch (packages), map (contract mel -> Whisper mel), encode (all clips -> features), train, export, evaluate.
A stage skips what exists; delete `DIR/audio/speech.pt` or `sound.pt` to train again, e.g. when the text tower changed.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tools.train_nano.audio_data import held_out_lines, training_lines
from tools.train_nano.audio_encoder import SpeechEncoder, load_encoder, read_ctranslate2
from tools.train_nano.audio_export import AudioGraph, save
from tools.train_nano.audio_features import (
    STATS,
    Features,
    compile_features,
    encode_lines,
    load_features,
    say,
    write_shard,
)  # fmt: skip
from tools.train_nano.audio_head import HeadShape, SoundHead, SpeechHead
from tools.train_nano.audio_mel import fit_map
from tools.train_nano.audio_sources import emoji_folder, fetch_audio, joe_folder, whisper_file
from tools.train_nano.audio_targets import vectors_of
from tools.train_nano.audio_words import everyday_names

Audio = NDArray[np.float32]
Encode = Callable[[Audio], tuple[Audio, Audio]]
MAP_CLIPS = 300
SOUND_ROUNDS = 7
SPOKEN = ("names", "words", "talk", "more1")
HELD_LINES = ("held-names", "held-talk")


def encoder_of(work: Path) -> SpeechEncoder:
    stored = np.load(work / "audio" / "map.npz")
    return load_encoder(read_ctranslate2(whisper_file(work).read_bytes()), stored["weight"], stored["bias"])


def stage_map(work: Path) -> None:
    """Fit the map between the two mel scales on 300 clips of everyday names."""
    target = work / "audio" / "map.npz"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = training_lines(emoji_folder(work), "names")[:MAP_CLIPS]
        weight, bias, r2 = fit_map([say(line, joe_folder(work)) for line in lines])
        np.savez(target, weight=weight, bias=bias, r2=r2)


def stage_encode(work: Path, sets: list[str]) -> None:
    """Make and encode the clips of the sets that are missing."""
    run: Encode = compile_features(encoder_of(work))
    for name in sets:
        target = work / "audio" / "features" / name
        if name == "sounds":
            _encode_sounds(work, target, run)
        elif name in ("held-human", "held-stamps", "held-sounds"):
            _encode_held(work, target, run)
        else:
            emoji = emoji_folder(work)
            held = name in HELD_LINES
            lines = held_out_lines(emoji, name.removeprefix("held-")) if held else training_lines(emoji, name)
            encode_lines(lines, target, joe_folder(work), run, (0, 1))


def _encode_sounds(work: Path, target: Path, run: Encode) -> None:
    from tools.train_nano.audio_sounds import sound_clips

    target.mkdir(parents=True, exist_ok=True)
    for number in range(SOUND_ROUNDS):
        if not (target / f"{number:04d}.npz").exists():
            write_shard(target / f"{number:04d}.npz", sound_clips(work, number, 1), run)


def _encode_held(work: Path, target: Path, run: Encode) -> None:
    from tools.train_nano.audio_held_out import KINDS

    target.mkdir(parents=True, exist_ok=True)
    if not (target / "0000.npz").exists():
        write_shard(target / "0000.npz", KINDS[target.name](work), run)


def features_of(work: Path, *names: str) -> Features:
    return load_features([work / "audio" / "features" / name for name in names])


def stage_train(work: Path, minutes: float, more: bool) -> None:
    """Train both heads against the text tower; `more` goes on from the saved speech head."""
    from tools.train_nano.audio_train import train_speech
    from tools.train_nano.audio_train_sound import train_sound

    vectors, speech, sound = vectors_of(work, "tower"), work / "audio" / "speech.pt", work / "audio" / "sound.pt"
    spoken = features_of(work, *SPOKEN)
    if more or not speech.exists():
        torch.save(train_speech(spoken, vectors, speech, minutes).state_dict(), speech)
    if not sound.exists():
        names = everyday_names(emoji_folder(work))
        torch.save(train_sound(features_of(work, "sounds"), spoken, vectors, names).state_dict(), sound)


def heads_of(work: Path) -> tuple[SpeechHead, SoundHead]:
    speech, sound = SpeechHead(HeadShape()), SoundHead(STATS, HeadShape().dim)
    speech.load_state_dict(torch.load(work / "audio" / "speech.pt", weights_only=True))
    sound.load_state_dict(torch.load(work / "audio" / "sound.pt", weights_only=True))
    return speech.eval(), sound.eval()


def stage_export(work: Path) -> None:
    """Write the graphs to `audio/package`, and beside it for whoever looks there."""
    package = work / "audio" / "package"
    print(json.dumps(save(AudioGraph(encoder_of(work), *heads_of(work)), package)))
    for path in package.iterdir():
        shutil.copy(path, work / "audio" / path.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=["fetch", "map", "encode", "train", "export", "evaluate"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--minutes", type=float, default=20.0, help="of speech training, on one quiet core")
    parser.add_argument("--more", action="store_true", help="go on from the saved speech head")
    given = parser.parse_args()
    torch.set_num_threads(1)
    held = [*HELD_LINES, "held-human", "held-stamps", "held-sounds"]
    if given.stage == "fetch":
        fetch_audio(given.work)
    elif given.stage == "map":
        stage_map(given.work)
    elif given.stage == "encode":
        stage_encode(given.work, given.sets or [*SPOKEN, "sounds", *held])
    elif given.stage == "train":
        stage_train(given.work, given.minutes, given.more)
    elif given.stage == "export":
        stage_export(given.work)
    else:
        from tools.train_nano.audio_figures import evaluate

        evaluate(given.work)


if __name__ == "__main__":
    main()
