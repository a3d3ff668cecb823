"""Decode files to what towers read: RGB pictures, 16 kHz mono sound, text. Nothing here knows a model."""

from embedding.media.kinds import SUFFIXES, sniff
from embedding.media.limits import Limits
from embedding.media.pictures import decode_image
from embedding.media.sounds import decode_audio
from embedding.media.texts import decode_text

__all__ = ["SUFFIXES", "Limits", "decode_audio", "decode_image", "decode_text", "sniff"]
