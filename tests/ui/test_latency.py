from ui.latency import LatencyLog, Setup

SETUP = Setup("nano", "int8", "CPU")


def test_percentiles_are_those_of_the_runs():
    log = LatencyLog()
    log.first(SETUP, ["text"], {"text": 300.0})
    for milliseconds in range(1, 101):
        log.record(SETUP, ["text"], {"text": float(milliseconds)}, milliseconds + 1.0)
    figures = log.figures(SETUP)
    assert (figures["text"].last, figures["text"].p50, figures["text"].n) == (100.0, 50.5, 100)
    assert abs(figures["text"].p95 - 95.05) < 1e-9
    assert figures["total"].p50 == 51.5


def test_a_first_run_is_kept_apart():
    log = LatencyLog()
    assert log.record(SETUP, ["text"], {"text": 900.0}, 900.0).cold
    assert not log.record(SETUP, ["text"], {"text": 10.0}, 10.0).cold
    assert log.record(SETUP, ["text", "image"], {"text": 10.0, "vision": 500.0}, 510.0).cold, "first picture"
    assert log.figures(SETUP)["total"].n == 1
    assert [run.total for run in log.cold(SETUP)] == [900.0, 510.0]
    assert log.last(SETUP).total == 510.0


def test_a_probe_is_no_search_but_warms_its_towers():
    log = LatencyLog()
    log.first(SETUP, ["text", "image"], {"text": 5.0, "vision": 7.0})
    assert log.last(SETUP) is None
    assert [run.total for run in log.cold(SETUP)] == [12.0]
    assert not log.record(SETUP, ["image"], {"vision": 3.0}, 3.0).cold


def test_setups_do_not_mix():
    log = LatencyLog()
    other = Setup("nano", "int8", "GPU")
    log.first(SETUP, ["text"], {})
    log.record(SETUP, ["text"], {"text": 1.0}, 1.0)
    assert log.figures(other) == {}
    assert log.last(other) is None


def test_only_the_newest_thousand_count():
    log = LatencyLog()
    log.first(SETUP, ["text"], {})
    for milliseconds in [500.0] * 1000 + [1.0] * 1000:
        log.record(SETUP, ["text"], {}, milliseconds)
    assert log.figures(SETUP)["total"].p95 == 1.0
