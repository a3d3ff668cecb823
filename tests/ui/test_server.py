"""The real server over the studio of the tests, asked as a browser, a script and an attacker would."""

import json
import threading
import time
import urllib.error
import urllib.request

import pytest
import uvicorn
from gradio_client import Client, handle_file

from tests.index.fakes import picture
from ui.server import _loopback, make_app


@pytest.fixture
def address(filled):
    server = uvicorn.Server(
        uvicorn.Config(make_app(filled), host="127.0.0.1", port=0, log_level="warning", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    yield f"http://{host}:{port}"
    server.should_exit = True
    thread.join(10)


def get(url, method="GET", body=None, **headers):
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def ids(studio):
    return {item.name: item.id for item in studio.library.items(limit=None)}


def test_media_are_handed_out_by_id_in_parts_and_harmless(filled, address, files):
    known = ids(filled)
    status, headers, body = get(f"{address}/media/{known['bird.wav']}", Range="bytes=0-3")
    assert (status, headers["content-type"], body) == (206, "audio/wav", b"RIFF")
    status, headers, body = get(f"{address}/media/{known['cherry.png']}")
    assert (status, headers["content-type"], body) == (200, "image/png", (files / "cherry.png").read_bytes())
    assert headers["x-content-type-options"] == "nosniff" and "sandbox" in headers["content-security-policy"]
    status, headers, body = get(f"{address}/media/{known['fire.md']}")
    assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8") and b"red flame" in body
    status, headers, body = get(f"{address}/thumb/{known['cherry.png']}")
    assert (status, headers["content-type"], body[8:12]) == (200, "image/webp", b"WEBP")
    status, headers, body = get(f"{address}/wave/{known['bird.wav']}")
    assert (status, headers["content-type"], body[:4]) == (200, "image/svg+xml", b"<svg")


def test_what_is_not_there_is_a_404(filled, address):
    known = ids(filled)
    for path in ("media/999", "thumb/999", "wave/999", f"thumb/{known['bird.wav']}", f"wave/{known['fire.md']}"):
        assert get(f"{address}/{path}")[0] == 404
    for path in ("media/..%2f..%2fetc%2fpasswd", "media/%2fetc%2fpasswd", "thumb/1;2"):
        assert get(f"{address}/{path}")[0] in (404, 422)


def test_health_tells_what_runs(address):
    status, _, body = get(f"{address}/health")
    assert status == 200
    assert json.loads(body) == {"ok": True, "setup": "colours · int8 · CPU", "items": 6}


def test_the_page_needs_nothing_from_elsewhere(address):
    _, _, body = get(address)
    page = body.decode()
    assert "fonts.googleapis" not in page and "cdn" not in page
    status, _, css = get(f"{address}/theme.css")
    assert status == 200 and b"googleapis" not in css


def test_scripts_search_add_switch_and_remove(filled, address, tmp_path):
    client = Client(address, verbose=False)
    found = client.predict("red", None, None, [], 2, api_name="/search")
    assert [hit["name"] for hit in found["hits"]] == ["cherry.png", "fire.md"]
    assert found["timings"]["total"] > 0 and found["space"] == "colours@1/none/1/32"
    asked = picture(tmp_path / "asked.png", (0, 0, 240))
    found = client.predict("", handle_file(asked), None, ["image"], 5, api_name="/search")
    assert [hit["name"] for hit in found["hits"]] == ["sky.png", "cherry.png"]
    (tmp_path / "empty.txt").write_bytes(b"")
    added = client.predict([handle_file(asked)], api_name="/add")
    assert len(added["added"]) == 1 and added["skipped"] == []
    assert client.predict(added["added"][0], [], 3, api_name="/like")["hits"][0]["name"] == "asked.png"
    assert client.predict(added["added"], api_name="/remove") == added["added"]
    assert len(client.predict("", "", 0, 100, api_name="/items")) == 6
    status = client.predict("shades", "int8", "CPU", api_name="/switch")
    assert (status["model"], status["pending"]) == ("shades", 6)
    with pytest.raises(Exception, match="failed its probe"):
        client.predict("broken", "int8", "CPU", api_name="/switch")
    assert client.predict(api_name="/status")["model"] == "shades"


def test_only_uploads_are_taken_for_files(address, tmp_path):
    """A script may name any path as an upload; without Gradio's check the server would read it and hand it out."""
    secret = picture(tmp_path / "secret.png", "red")
    for endpoint, data in (("search", ["", None, [], 3]), ("add", [])):
        file = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
        data = [data[0], file, *data[1:]] if data else [[file]]
        body = json.dumps({"data": data}).encode()
        status, _, answer = get(
            f"{address}/gradio_api/call/{endpoint}", "POST", body, **{"Content-Type": "application/json"}
        )
        assert status == 200
        _, _, events = get(f"{address}/gradio_api/call/{endpoint}/{json.loads(answer)['event_id']}")
        assert b"event: error" in events and b"not uploaded" in events
    assert get(f"{address}/gradio_api/file={secret}")[0] == 403
    assert get(f"{address}/gradio_api/file=/etc/passwd")[0] == 403


def test_other_sites_cannot_use_the_page(address):
    body = json.dumps({"data": [[1]]}).encode()
    for site, expected in (("cross-site", 403), ("same-origin", 200)):
        headers = {"Content-Type": "application/json", "Sec-Fetch-Site": site}
        assert get(f"{address}/gradio_api/call/remove", "POST", body, **headers)[0] == expected


@pytest.mark.parametrize(
    ("host", "alone"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("box", False)]
)
def test_only_loopback_is_this_machine_alone(host, alone):
    assert _loopback(host) is alone
