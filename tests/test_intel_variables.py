"""The variables of Intel's embedding service are defaults of the matching flags; ours, and flags, win."""

from pathlib import Path

import pytest

import app

INTEL = {
    "EMBEDDING_MODEL_NAME": "Alibaba-NLP/gme-Qwen2-VL-2B-Instruct",
    "EMBEDDING_DEVICE": "cpu",
    "EMBEDDING_OV_MODELS_DIR": "/models",
    "GME_PRECISION": "INT4",
}


def settings(environment, *arguments):
    return app._settings(app._parser(environment).parse_args(arguments))


def test_a_host_set_up_for_the_service_works_unchanged():
    found = settings(INTEL)
    assert (found.model, found.precision) == ("Alibaba-NLP/gme-Qwen2-VL-2B-Instruct", "int4")
    assert (found.device, found.models_dir) == ("CPU", Path("/models"))


def test_the_service_s_model_name_is_known():
    from embedding.packages import card

    for name in ("Alibaba-NLP/gme-Qwen2-VL-2B-Instruct", "gme-qwen2-vl-2b-instruct", "gme-qwen2-vl-2b"):
        assert card(name).name == "gme-qwen2-vl-2b"


@pytest.mark.parametrize(
    ("ours", "flag", "field"),
    [
        ("TRIPTYCH_MODEL", "--model", "model"),
        ("TRIPTYCH_PRECISION", "--precision", "precision"),
        ("TRIPTYCH_DEVICE", "--device", "device"),
        ("TRIPTYCH_MODELS_DIR", "--models-dir", "models_dir"),
    ],
)
def test_ours_win_and_flags_win_over_both(ours, flag, field):
    assert str(getattr(settings({**INTEL, ours: "int8"}), field)) == "int8"
    assert str(getattr(settings({**INTEL, ours: "int8"}, flag, "fp16"), field)) == "fp16"


def test_an_empty_variable_is_none():
    assert settings({"GME_PRECISION": "", "EMBEDDING_DEVICE": ""}).precision is None
    assert settings({"EMBEDDING_DEVICE": ""}).device == "CPU"


def test_the_instruction_is_a_setting():
    assert settings({}, "--instruction", "Find a page.").instruction == "Find a page."
    assert settings({"TRIPTYCH_INSTRUCTION": "Find a photo."}).instruction == "Find a photo."
    assert settings({}).instruction is None
