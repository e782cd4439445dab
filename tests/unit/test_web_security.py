"""Who may ask `dyno serve`: host, origin, token and CSRF; paths and names stay what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Route
from webbed import BASE, TOKEN, TestClient, client, csrf, make_run

from dbdyno.web import security


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[TestClient]:
    make_run(tmp_path, "first")
    with client(tmp_path) as made:
        yield made


def test_the_token_becomes_a_cookie_and_leaves_the_address(tmp_path: Path) -> None:
    with client(tmp_path, enter=False) as made:
        assert made.get("/runs").status_code == 401
        answer = made.get(f"/runs?q=a+b&token={TOKEN}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/runs?q=a+b")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        assert TOKEN not in cookie
        assert made.get("/runs").status_code == 200


@pytest.mark.parametrize("token", ["", "x" * 32, TOKEN[:-1], TOKEN + "x"])
def test_another_token_opens_nothing(tmp_path: Path, token: str) -> None:
    with client(tmp_path, enter=False) as made:
        assert made.get(f"/runs?token={token}").status_code == 401
        made.cookies.set("dbdyno-8137", token)
        assert made.get("/runs").status_code == 401
        head = {"authorization": f"Bearer {token}"}
        assert made.get("/runs.json", headers=head).status_code == 401


def test_a_program_brings_the_token_in_its_head(tmp_path: Path) -> None:
    with client(tmp_path, enter=False) as made:
        head = {"authorization": f"Bearer {TOKEN}"}
        assert made.get("/runs.json", headers=head).json()["total"] == 0


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1:8137", True),
        ("localhost:9000", True),
        ("[::1]:8137", True),
        ("192.0.2.7", True),
        ("evil.example:8137", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("evil.example:80:80", False),
    ],
)
def test_a_strangers_name_is_no_host_of_ours(browser: TestClient, host: str, own: bool) -> None:
    assert security.is_own_host(host) is own
    assert browser.get("/runs", headers={"host": host}).status_code == (200 if own else 421)


@pytest.mark.parametrize(
    "head",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8137"},
        {"sec-fetch-site": "cross-site"},
        {"origin": BASE, "sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(browser: TestClient, head: dict[str, str]) -> None:
    sent = {"csrf": csrf(browser)}
    assert browser.post("/runs", data=sent, headers=head).status_code == 403


def test_every_form_needs_its_second_token(browser: TestClient) -> None:
    for route in browser.app._app.routes:  # type: ignore[attr-defined]
        if isinstance(route, Route) and "POST" in (route.methods or ()):
            path = route.path.replace("{id}", "x").replace("{name}", "x")
            for sent in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
                answer = browser.post(path, data=sent, headers={"origin": BASE})
                assert answer.status_code == 403, path


def test_nothing_but_our_own_is_loaded_framed_or_kept(browser: TestClient) -> None:
    for path in ("/runs", "/runs.json", "/static/web.css", "/none"):
        answer = browser.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "script-src 'self';" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2fapp.py",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd",
        "/runs/..%2f..%2fetc%2fpasswd",
        "/runs/../../etc/passwd",
        "/runs/first",
        "/runs/%00",
        "//etc/passwd",
    ],
)
def test_no_path_of_an_address_reaches_the_disk(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text


def test_names_and_answers_stay_text(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    path = make_run(tmp_path, evil)
    (path / "result.json").write_text(json.dumps({"answer": evil, "claims": []}))
    with client(tmp_path) as made:
        for address in ("/runs", f"/runs?q={evil}", f"/runs?status={evil}"):
            text = made.get(address).text
            assert "<img" not in text
        assert "&lt;img" in made.get("/runs").text


def test_a_forms_length_is_bounded(browser: TestClient) -> None:
    for route in browser.app._app.routes:  # type: ignore[attr-defined]
        if isinstance(route, Route) and "POST" in (route.methods or ()):
            path = route.path.replace("{id}", "x").replace("{name}", "x")
            answer = browser.post(path, content=b"x" * (5 << 20), headers={"origin": BASE})
            assert answer.status_code in (403, 413), path
