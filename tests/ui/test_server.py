"""The real server over the studio of the tests, asked as a browser, a script and an attacker would."""

import json
import os
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest
import uvicorn
from gradio_client import Client, handle_file

from embedding.errors import TriptychError
from tests.index.fakes import picture
from ui.server import _loopback, listen, make_app
from ui.uploads import sweep


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


def call(address, endpoint, *data):
    """What the endpoint answers, as events: `complete` with a result or `error` with a reason."""
    body = json.dumps({"data": data}).encode()
    url = f"{address}/gradio_api/call/{endpoint}"
    status, _, answer = get(url, "POST", body, **{"Content-Type": "application/json"})
    assert status == 200
    _, _, events = get(f"{url}/{json.loads(answer)['event_id']}")
    return events.decode()


def sent(path):
    return {"path": str(path), "meta": {"_type": "gradio.FileData"}}


def upload(address, name, content):
    """Where the server keeps an upload; the client of Gradio does the same, but hides the path."""
    part = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode()
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    body = part + content + b"\r\n--x--\r\n"
    return json.loads(get(f"{address}/gradio_api/upload", "POST", body, **headers)[2])[0]


def test_only_uploads_are_taken_for_files(filled, address, tmp_path):
    """A script may name any path as an upload; without a check the server would read it and hand it out."""
    secret = picture(tmp_path / "secret.png", "red")
    own = upload(address, "letter.txt", b"red")
    folders = [filled.settings.uploads, os.path.dirname(os.path.dirname(own)), os.path.dirname(own)]
    for path in (secret, *folders, f"{own}.not", "x\x00y", "http://127.0.0.1:1/x.png"):
        for events in (call(address, "search", "", sent(path), None, [], 3), call(address, "add", [sent(path)])):
            assert "event: error" in events, path
    assert len(filled.library.items(limit=None)) == 6
    assert get(f"{address}/gradio_api/file={secret}")[0] == 403
    assert get(f"{address}/gradio_api/file=/etc/passwd")[0] == 403


def test_the_same_file_sent_twice_is_one_item(filled, address):
    """Gradio keeps one file for all uploads of one content and name, by whomever."""
    first, second = (upload(address, "same.txt", b"red") for _ in range(2))
    other = upload(address, "other.txt", b"blue")
    assert first == second
    assert "event: complete" in call(address, "add", [sent(first), sent(second), sent(other)])
    assert "event: complete" in call(address, "add", [sent(second)])
    assert {"same.txt", "other.txt"} <= ids(filled).keys() and len(filled.library.items(limit=None)) == 8
    assert not list(filled.settings.incoming.iterdir())


def test_a_second_server_leaves_uploads_of_the_first_alone(filled, address):
    own = upload(address, "letter.txt", b"red")
    make_app(filled)
    assert os.path.isfile(own)


def test_what_a_killed_server_left_is_deleted_when_it_is_old(tmp_path):
    (tmp_path / "uploads" / "a").mkdir(parents=True)
    (tmp_path / "uploads" / "a" / "left.txt").write_text("x")
    sweep([tmp_path / "uploads", tmp_path / "never made"])
    assert (tmp_path / "uploads" / "a" / "left.txt").exists()
    sweep([tmp_path / "uploads"], older_than=-1)
    sweep([tmp_path / "uploads"], older_than=-1)
    assert not list((tmp_path / "uploads").iterdir())


NONSENSE = [
    ("remove", ["34"], "ids must be a list"),
    ("remove", [[True]], "Each id must be a whole number"),
    ("restore", [[2.9]], "Each id must be a whole number"),
    ("remove", [[10**30]], "Each id must be a whole number"),
    ("search", ["red", None, None, [], 0], "k must be a whole number from 1 to 200, not 0"),
    ("search", ["red", None, None, [], -5], "k must be"),
    ("search", ["red", None, None, [], None], "k must be"),
    ("search", ["red", None, None, ["foo"], 3], "There is no kind 'foo'; there are document, image, audio"),
    ("search", ["red", None, None, 5, 3], "kinds must be a list"),
    ("search", [["red"], None, None, [], 3], "words must be text"),
    ("search", ["red", "a.png", None, [], 3], "An input is not a file"),
    ("search", [], "enough input values"),
    ("like", [10**30, [], 3], "item must be a whole number"),
    ("like", [999, [], 3], "999"),
    ("items", ["5", "", 0, 10], "There is no kind '5'"),
    ("items", ["", "", -1, 10], "offset must be"),
    ("items", ["", "", 10**19, 10], "offset must be"),
    ("items", ["", "", 0, 10**30], "limit must be"),
    ("switch", ["shades", "int3", "CPU"], "There is no precision of shades 'int3' here; there is int8, fp16"),
    ("switch", ["nope", "int8", "CPU"], "There is no model 'nope' here; there is colours, shades, broken"),
]


def test_nonsense_is_answered_in_a_sentence_and_not_logged(filled, capfd, address):
    for endpoint, data, told in NONSENSE:
        events = call(address, endpoint, *data)
        assert "event: error" in events and told in events, (endpoint, data)
    assert "Traceback" not in capfd.readouterr().err
    assert str(filled.setup) == "colours · int8 · CPU" and len(filled.library.items(limit=None)) == 6


def test_an_unknown_session_is_no_fault_of_the_server(capfd, address):
    status, _, body = get(f"{address}/gradio_api/queue/data?session_hash=nobody")
    assert status == 200 and b'"session_not_found":true' in body
    time.sleep(0.3)  # the server logs after it has answered
    assert "Traceback" not in capfd.readouterr().err


def test_other_sites_cannot_use_the_page(address):
    host = address.removeprefix("http://")
    for expected, headers in (
        (200, {}),
        (200, {"Origin": address, "Sec-Fetch-Site": "same-origin"}),
        (200, {"Origin": "https://box.example", "X-Forwarded-Host": "box.example"}),
        (403, {"Sec-Fetch-Site": "cross-site"}),
        (403, {"Sec-Fetch-Site": "same-site"}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://127.0.0.1:1", "Host": host}),
        (403, {"Origin": "http://["}),
    ):
        body = json.dumps({"data": [[999]]}).encode()
        headers = {"Content-Type": "application/json", **headers}
        assert get(f"{address}/gradio_api/call/remove", "POST", body, **headers)[0] == expected, headers


def test_no_other_site_is_allowed_to_read(address):
    asks = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST", "Host": "box.example"}
    for method in ("OPTIONS", "GET"):
        status, headers, _ = get(f"{address}/gradio_api/info", method, **asks)
        assert status == 403 and "access-control-allow-origin" not in headers


def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TriptychError, match=f"port {port} is taken: .*; choose another with --port"):
            listen("127.0.0.1", port)
    for listener in listen("localhost", 0):
        assert listener.getsockname()[1]
        listener.close()
    with pytest.raises(TriptychError, match="choose another with --host"):
        listen("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("host", "alone"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("box", False)]
)
def test_only_loopback_is_this_machine_alone(host, alone):
    assert _loopback(host) is alone
