"""The real page in Chromium over the real app: everything a person does in the first minutes."""

import base64
import mimetypes
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from gradio_client import Client, handle_file
from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "assets" / "library"
PACKAGES = ROOT / "tests" / "fixtures" / "packages"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]
# Ratio of text to what is behind it, for every text that shows; AA asks for 4.5, and 3 for large text.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const mix = (top, under) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a)); };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => (top.length ? mix(top, under) : under), [255, 255, 255]);
  };
  const faults = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest('[disabled], script, style, .sr-only')) continue;
    if (!element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    const style = getComputedStyle(element), back = behind(element);
    const opacity = [...(function* () { for (let e = element; e; e = e.parentElement) yield e; })()]
      .reduce((all, e) => all * Number(getComputedStyle(e).opacity), 1);
    const ink = parse(style.color); ink[3] = (ink[3] ?? 1) * opacity;
    const [a, b] = [light(mix(ink, back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const name = `${element.tagName}.${element.className}: ${element.textContent.trim().slice(0, 40)}`;
    if (ratio < least - 0.01) faults.push(`${ratio.toFixed(2)} ${name}`);
  }
  return faults;
}"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app as a process of its own, on the built-in model, with an empty library and a second package beside it."""
    data = tmp_path_factory.mktemp("data")
    command = [sys.executable, "app.py", "--port", "0", "--data-dir", str(data), "--models-dir", str(PACKAGES)]
    command += ["--model", "nano", "--no-samples"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    said, found = [], None
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"http://\S+", line):
            break
    threading.Thread(target=lambda: [said.append(line) for line in process.stderr], daemon=True).start()
    assert found, "".join(said)
    yield found[0]
    process.terminate()
    assert process.wait(20) in (0, -15)
    assert "Traceback" not in "".join(said), "".join(said)


@pytest.fixture(scope="module")
def browser():
    expect.set_options(timeout=30_000)  # a machine under load takes its time
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    """A fresh window that fails the test when the page asks another host for something or breaks in a script."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(30_000)
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url) if _foreign(request.url, address) else None)
    page.goto(address)
    expect(page.locator("#bar .items")).to_contain_text("item")
    yield page
    context.close()
    assert not faults


@pytest.fixture
def stocked(page, address):
    """The page over a library that holds some files of each kind, whatever ran before."""
    client = Client(address, verbose=False)
    client.predict([handle_file(file) for file in some_files()], api_name="/add")
    return page


def _foreign(url: str, address: str) -> bool:
    return not url.startswith((address, "data:", "blob:"))


def drop(page: Page, target: str, *files: Path) -> None:
    """Drop files from outside on a part of the page."""
    sent = [
        {
            "name": file.name,
            "type": mimetypes.guess_type(file.name)[0] or "",
            "data": base64.b64encode(file.read_bytes()).decode(),
        }
        for file in files
    ]
    transfer = page.evaluate_handle(
        """async (files) => {
          const transfer = new DataTransfer();
          for (const {name, type, data} of files) {
            const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
            transfer.items.add(new File([bytes], name, {type}));
          }
          return transfer;
        }""",
        sent,
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(target, event, {"dataTransfer": transfer})


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def ask(page: Page, words: str) -> None:
    """As a person does it: what a page that loads or clears still sends has arrived before anybody has typed."""
    box = page.get_by_role("textbox", name="Search words")
    page.wait_for_timeout(1_500)
    box.fill(words)
    page.wait_for_timeout(300)
    box.press("Enter")


def shown(page: Page) -> list[str]:
    return page.locator(".card .name").all_inner_texts()


def searched(page: Page, number: int) -> None:
    """Wait until the bar has counted so many searches with the present setup."""
    expect(page.locator("#bar .latency")).to_contain_text(re.compile(rf"\bn {number}$"))


def some_files() -> list[Path]:
    """Three of each kind of the sample library, the dog picture among them."""
    found = []
    for folder in ("documents", "pictures", "sounds"):
        found += sorted((SAMPLES / folder).iterdir())[:3]
    return found


def test_a_person_adds_searches_filters_deletes_and_switches(page, tmp_path):
    expect(page.locator("#greeting")).to_contain_text("The library holds nothing yet")
    expect(page.locator("#banner")).to_contain_text("nano is a small model")

    # files dropped into the library, one of them damaged
    files = some_files()
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
    tab(page, "Library")
    drop(page, "#drop button", *files, broken)
    expect(page.locator("#tray")).to_contain_text("9 added, 1 skipped", timeout=40_000)
    expect(page.locator("#tray")).to_contain_text("broken.png")
    expect(page.locator("#bar .items")).to_have_text("9 items")
    expect(page.locator("#table tbody tr")).to_have_count(9)

    # by words: all kinds answer, the bar shows what it cost
    tab(page, "Search")
    ask(page, "an animal")
    expect(page.locator(".card")).to_have_count(9)
    assert {card.get_attribute("data-kind") for card in page.locator(".card").all()} == {"document", "image", "audio"}
    expect(page.locator("#stages")).to_contain_text(re.compile(r"text [\d.]+"))
    expect(page.locator("#bar .latency")).to_contain_text(re.compile(r"last [\d.,]+ ms.*p50.*p95.*n 1"))
    scores = [float(text) for text in page.locator(".card .score").all_inner_texts()]
    assert scores == sorted(scores, reverse=True) and all(-1 <= score <= 1 for score in scores)

    # by picture, dropped on the tab; the same file is in the library, so it leads with 1.000
    picture, sound = files[3], files[6]
    page.keyboard.press("Escape")
    expect(page.locator(".card")).to_have_count(0)
    drop(page, "#results", picture)
    expect(page.locator(".card .name").first).to_have_text(picture.name)
    assert float(page.locator(".card .score").first.inner_text()) > 0.999
    expect(page.locator("#stages")).to_contain_text(re.compile(r"vision [\d.,]*[1-9]"))

    # by sound, through the control
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".card")).to_have_count(0)
    page.get_by_role("button", name="Sound", exact=True).click()
    page.locator("#ask-sound input[type=file]").set_input_files(sound)
    expect(page.locator(".card .name").first).to_have_text(sound.name)
    assert float(page.locator(".card .score").first.inner_text()) > 0.999
    searched(page, 3)

    # filter
    page.keyboard.press("Escape")
    ask(page, "an animal")
    expect(page.locator(".card")).to_have_count(9)
    page.get_by_role("checkbox", name="documents").uncheck()
    page.get_by_role("checkbox", name="sounds").uncheck()
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator(".card[data-kind=image]")).to_have_count(3)

    # delete and undo
    first = shown(page)[0]
    page.locator(".card").first.get_by_role("button", name=f"Delete {first}").click()
    expect(page.locator(".card")).to_have_count(2)
    expect(page.locator("#bar .items")).to_have_text("8 items")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".card")).to_have_count(3)
    assert shown(page)[0] == first
    expect(page.locator("#bar .items")).to_have_text("9 items")

    # more like this
    page.locator(".card").first.get_by_role("button", name=f"More like {first}").click()
    expect(page.locator("#results .found")).to_contain_text(f"nearest to {first}")
    expect(page.locator(".card .score").first).to_have_text("1.000")

    # another model: the bar follows, its items are embedded on demand, and its latency is counted apart
    page.get_by_label("Model").select_option("gemma-tiny")
    expect(page.locator("#bar select[data-field=model]")).to_have_value("gemma-tiny")
    expect(page.locator("#bar .latency")).to_have_text("no search yet")
    expect(page.locator("#banner")).to_contain_text("9 items not embedded")
    ask(page, "an animal")
    expect(page.locator("#results [role=alert]")).to_be_visible()
    page.get_by_role("button", name="Embed them now").click()
    expect(page.locator("#banner .note.warn")).to_have_count(0)
    ask(page, "an animal")
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator("#bar .latency")).to_contain_text("n 1")

    # another precision, and back
    page.get_by_label("Precision").select_option("int8")
    expect(page.locator("#bar .state")).to_have_text("")
    expect(page.locator("#bar select[data-field=precision]")).to_have_value("int8")
    page.get_by_label("Model").select_option("nano")
    expect(page.locator("#banner")).to_contain_text("nano is a small model")
    ask(page, "an animal")
    expect(page.locator(".card")).to_have_count(3)
    searched(page, 7)  # words, picture, sound, words, two filters, and now words again; "like this" ran no tower


def test_the_keyboard_is_enough(stocked):
    page = stocked
    expect(page.get_by_role("textbox", name="Search words")).to_be_focused()
    page.keyboard.type("water")
    page.keyboard.press("Enter")
    expect(page.locator(".card").first).to_be_visible()
    order = []
    for _ in range(3):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.innerText"))
    assert order == ["Picture", "Sound", "Search"]
    page.keyboard.press("Escape")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Search words")).to_be_focused()
    expect(page.get_by_role("textbox", name="Search words")).to_have_value("")


def test_a_recorded_sound_is_asked(stocked):
    page = stocked
    page.context.grant_permissions(["microphone"])
    page.get_by_role("button", name="Sound", exact=True).click()
    page.locator("#ask-sound").get_by_label("Record audio").click()
    page.locator("#ask-sound .record-button").click()
    page.wait_for_timeout(1200)
    page.locator("#ask-sound .stop-button").click()
    expect(page.locator(".card").first).to_be_visible()
    expect(page.locator("#stages")).to_contain_text(re.compile(r"audio [\d.,]*[1-9]"))


def test_a_file_that_is_no_picture_is_told_in_place(page, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
    drop(page, "#results", broken)
    expect(page.locator("#results [role=alert]")).to_contain_text("The picture is")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_aa(stocked, address, theme):
    page = stocked
    page.goto(f"{address}/?__theme={theme}")
    ask(page, "an animal")
    expect(page.locator(".card").first).to_be_visible()
    assert page.evaluate(CONTRAST) == []
    for name in ("Library", "About"):
        tab(page, name)
        expect(page.locator("table:visible").first).to_be_visible()
        assert page.evaluate(CONTRAST) == []


def test_a_phone_shows_one_column_and_a_folded_bar(stocked):
    page = stocked
    page.set_viewport_size({"width": 390, "height": 844})
    ask(page, "an animal")
    expect(page.locator(".card").first).to_be_visible()
    for name, drawn in (("Library", "#table table"), ("About", "#about table"), ("Search", ".card")):
        tab(page, name)
        expect(page.locator(drawn).first).to_be_visible()
        page.wait_for_function("document.documentElement.scrollWidth <= 390")
    boxes = [card.bounding_box() for card in page.locator(".card").all()]
    assert len({box["x"] for box in boxes}) == 1 and all(box["width"] > 300 for box in boxes)
    page.mouse.wheel(0, 600)
    page.wait_for_function("scrollY > 100 && document.querySelector('#bar').getBoundingClientRect().top === 0")
    expect(page.get_by_label("Model")).to_be_hidden()
    page.get_by_role("button", name="setup").click()
    expect(page.get_by_label("Model")).to_be_visible()
