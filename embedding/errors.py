"""Errors a person can act on: each message names the fault, what exists, and the next step."""

from __future__ import annotations


class TriptychError(Exception):
    """Root of all errors of the project; its text is one sentence for a person."""


class MediaError(TriptychError):
    """A file or an input cannot be decoded, or breaks a limit."""


class PackageError(TriptychError):
    """A model package is unknown, missing, damaged or cannot be downloaded."""


class DeviceError(TriptychError):
    """A device or precision does not exist here or cannot run the model."""


class InferenceError(TriptychError):
    """A model gave something that is not a vector, or nothing in time."""


class SpaceError(TriptychError):
    """Vectors of another space were asked for or offered."""


class LibraryError(TriptychError):
    """The library refuses: unknown id, locked or damaged database, wrong query."""
