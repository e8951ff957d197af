"""Logging in with the token, and out."""

from __future__ import annotations

import pytest

TOKEN = "a-token-of-the-tests"


@pytest.fixture
def client(browse, predictor):
    return browse(predictor, token=TOKEN)


def test_whoever_knows_the_token_gets_in(client):
    assert client.get("/", headers={"accept": "text/html"}).url.path == "/login"
    response = client.post("/login", data={"token": TOKEN}, headers={"accept": "text/html"})
    assert response.url.path == "/" and response.status_code == 200
    assert "Log out" in response.text


def test_the_cookie_is_for_this_site_and_no_script(client):
    response = client.post("/login", data={"token": TOKEN}, follow_redirects=False)
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert "secure" not in cookie and TOKEN not in cookie


def test_beyond_this_machine_the_cookie_is_sent_over_https_only(client):
    response = client.post(
        "/login", data={"token": TOKEN}, headers={"host": "thrifty.example"}, follow_redirects=False
    )
    assert "secure" in response.headers["set-cookie"].lower()


@pytest.mark.parametrize("token", ["", "wrong", f"{TOKEN}x", "ß"])
def test_another_token_is_refused(client, token):
    response = client.post("/login", data={"token": token})
    assert response.status_code == 403
    assert "set-cookie" not in response.headers
    assert "not the token" in response.text and 'role="alert"' in response.text


def test_what_is_no_form_is_a_problem(client):
    response = client.post("/login", json={"token": TOKEN})
    assert response.status_code == 415 and "<h1>Not a form</h1>" in response.text


def test_whoever_logs_out_has_to_log_in_again(client):
    client.post("/login", data={"token": TOKEN})
    client.post("/logout")
    assert client.get("/", headers={"accept": "text/html"}).url.path == "/login"


def test_a_server_without_a_token_has_no_login(browse, predictor):
    client = browse(predictor)
    assert client.get("/login").status_code == 404
    assert "Log out" not in client.get("/").text
