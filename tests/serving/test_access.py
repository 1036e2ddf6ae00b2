"""Who may ask `lmm serve`: tokens of courses and groups from a file, and users whom the proxy names."""

import json
import os
import stat

import pytest

from lmm_core.errors import TokenError
from lmm_core.serving.access import SignIn
from lmm_core.serving.tokens import TokenFile, add_token, read_tokens, revoke_token, tokens_path
from lmm_core.settings.project import load_project
from tests.commands import write
from tests.indexing import lmm
from tests.serving import ASK, Served, command

HEADER = "X-Forwarded-User"
USER = {HEADER: "anna.muster@example.org"}


def bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


# Tokens by course or group


def test_a_token_is_shown_once_and_kept_as_a_hash_that_only_its_owner_reads(tmp_path):
    token = add_token(tmp_path, "Biology 1")
    path = tokens_path(tmp_path)
    assert len(token) >= 32 and token not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in read_tokens(path)] == ["Biology 1"]
    again = add_token(tmp_path, "Biology 2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and again != token
    assert TokenFile(tmp_path).name_of(again.encode()) == "Biology 2"
    assert TokenFile(tmp_path).name_of(b"x" * 32) is None


@pytest.mark.parametrize("name", ["", " x", "../x", "a\nb", "a\x1b[2J", "x" * 61, '"'])
def test_a_name_is_a_word_or_some(tmp_path, name):
    with pytest.raises(TokenError, match="name of a token"):
        add_token(tmp_path, name)
    assert not tokens_path(tmp_path).exists()


def test_with_tokens_only_their_holders_are_answered_and_a_revoked_one_no_more(own_course):
    with Served(own_course) as served:
        assert served.client.get("/health").status_code == 200
        biology, physics = add_token(own_course, "biology"), add_token(own_course, "physics")
        refused = served.client.get("/health")
        assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        assert served.client.get("/health", headers=bearer("x" * 32)).status_code == 401
        assert served.client.get("/health", headers=bearer(biology)).status_code == 200
        assert served.events(ASK, headers=bearer(physics))[-1][0] == "done"
        revoke_token(own_course, "biology")
        assert served.client.get("/health", headers=bearer(biology)).status_code == 401
        assert served.client.get("/health", headers=bearer(physics)).status_code == 200
        revoke_token(own_course, "physics")
        assert served.client.get("/health").status_code == 401  # none is left: nobody, not everybody
    assert not any("biology" in line or "physics" in line for line in served.log)


def test_the_token_of_the_environment_holds_beside_them(own_course):
    token = add_token(own_course, "biology")
    with Served(own_course, token="sesame") as served:
        for given in ("sesame", token):
            assert served.client.get("/health", headers=bearer(given)).status_code == 200
        assert served.client.get("/health", headers=bearer("sesam")).status_code == 401


def test_wrong_tokens_count_as_questions_wherever_they_are_tried(own_course):
    """Else a weak one could be found by pages of the notes, which count little."""
    for path in ("/text/x.html", "/outline", "/health"):
        with Served(own_course, token="sesame", rate=2) as served:
            statuses = [served.client.get(path, headers=bearer(f"guess{n}")).status_code for n in range(4)]
            assert statuses == [401, 401, 429, 429], path
    with Served(own_course, token="sesame", rate=2) as served:  # a page that asks for the token does not count so much
        assert [served.client.get("/text/x.html").status_code for _ in range(4)] == [401] * 4


def test_the_box_of_a_course_site_asks_with_the_token_of_a_group(own_course):
    token, site = (
        add_token(own_course, "biology"),
        {"Origin": "https://course.example.org", "Sec-Fetch-Site": "cross-site"},
    )
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    with Served(own_course, origins=("https://course.example.org",), record="conversations") as served:
        allowed = served.client.options("/ask", headers=site | wanted)  # which browsers send without the token
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == site["Origin"]
        assert "authorization" in allowed.headers["access-control-allow-headers"].lower()
        refused = served.client.post("/ask", json=ASK, headers=site)
        assert refused.status_code == 401  # and the site may read why
        assert refused.headers["access-control-allow-origin"] == site["Origin"]
        done = served.events(ASK, headers=site | bearer(token))[-1][1]
        judged = {"id": done["id"], "thumb": 1}
        assert served.client.post("/judge", json=judged, headers=site).status_code == 401
        assert served.client.post("/judge", json=judged, headers=site | bearer(token)).json() == {"recorded": True}
        strange = site | bearer(token) | {"Origin": "https://other.example.org"}
        assert served.client.post("/judge", json=judged, headers=strange).status_code == 403


def test_answers_are_judged_by_those_who_may_ask(own_course):
    token = add_token(own_course, "biology")
    with Served(own_course, user_header=HEADER, record="questions") as served:
        done = served.events(ASK, headers=USER | bearer(token))[-1][1]
        judged = {"id": done["id"], "thumb": -1}
        for headers in ({}, USER, bearer(token)):
            assert served.client.post("/judge", json=judged, headers=headers).status_code == 401
        assert served.client.post("/judge", json=judged, headers=USER | bearer(token)).status_code == 200
    recorded = b"".join(path.read_bytes() for path in (own_course / ".lmm").glob("asked.sqlite*"))
    assert recorded and b"anna" not in recorded and b"biology" not in recorded and token.encode() not in recorded


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"format": 2, "tokens": []}', b'{"format": 1, "tokens": [{"name": "x"}]}',
     b'{"format": 1, "tokens": [{"name": "x", "sha256": "", "made": ""}]}', b"[" * 100_000, b" " * 1_000_001],
)  # fmt: skip
def test_a_damaged_file_lets_nobody_in(own_course, data):
    token = add_token(own_course, "biology")
    with Served(own_course, token="sesame") as served:
        tokens_path(own_course).write_bytes(data)
        for given in (token, "sesame", ""):
            refused = served.client.get("/health", headers=bearer(given))
            assert refused.status_code == 503 and "cannot be checked" in refused.json()["error"]
    assert any("tokens.json" in line and "damaged" in line for line in served.log)


def test_a_file_that_others_may_read_or_that_is_none_lets_nobody_in(own_course):
    token, path = add_token(own_course, "biology"), tokens_path(own_course)
    with Served(own_course) as served:
        path.chmod(0o644)  # as one that has come with a cloned folder
        assert served.client.get("/health", headers=bearer(token)).status_code == 503
        path.chmod(0o600)
        assert served.client.get("/health", headers=bearer(token)).status_code == 200
        path.rename(path.with_name("elsewhere.json"))
        assert served.client.get("/health", headers=bearer(token)).status_code == 503  # gone, while it runs
        path.symlink_to("elsewhere.json")
        assert served.client.get("/health", headers=bearer(token)).status_code == 503
        path.unlink()
        os.mkfifo(path, 0o600)
        assert served.client.get("/health", headers=bearer(token)).status_code == 503
        path.unlink()
        path.mkdir(0o700)
        assert served.client.get("/health", headers=bearer(token)).status_code == 503


def test_a_change_at_the_same_time_is_not_lost(tmp_path, monkeypatch):
    """Another `add` comes between reading and writing."""
    from lmm_core.serving import tokens

    add_token(tmp_path, "first")
    real = tokens.replace_file

    def slow(path, data, check):
        monkeypatch.setattr(tokens, "replace_file", real)
        add_token(tmp_path, "second")
        real(path, data, check)

    monkeypatch.setattr(tokens, "replace_file", slow)
    with pytest.raises(TokenError, match="at the same time"):
        add_token(tmp_path, "third")
    assert [one.name for one in read_tokens(tokens_path(tmp_path))] == ["first", "second"]


def test_the_commands_make_list_and_revoke(own_course, monkeypatch):
    monkeypatch.chdir(own_course)
    made, said = lmm("serve token add 'Biology 1'")
    assert len(made.strip()) >= 32 and "shown this once" in said and "needs a token" in said
    listed = lmm("serve token list --json")[0]
    assert [one["name"] for one in json.loads(listed)] == ["Biology 1"] and "sha256" not in listed
    assert "revoke 'Biology 1'" in lmm("serve token add 'Biology 1'", status=1)[1]
    assert "there is: Biology 1" in lmm("serve token revoke x", status=1)[1]
    assert "nobody can ask" in lmm("serve token revoke 'Biology 1'")[1]
    assert "nobody can ask" in lmm("serve token list")[1]


def test_what_is_no_command_of_it_is_told():
    assert "No such command" in lmm("serve tokens", status=2)[1]


def test_it_says_at_its_start_who_may_ask_and_does_not_start_with_a_damaged_file(own_course, monkeypatch):
    add_token(own_course, "biology")
    write(own_course / "config.toml", f'[serve]\nuser_header = "{HEADER}"\n')
    with command(own_course) as (process, _):
        start = "".join(process.said)
    assert "who asks needs a token: biology" in start and f"({HEADER} from 127.0.0.1, ::1)" in start
    tokens_path(own_course).write_text("{")
    monkeypatch.chdir(own_course)
    assert "damaged" in lmm("serve --port 0", status=1)[1]


# Users whom the proxy names


def test_a_user_is_who_the_proxy_says(course):
    with Served(course, user_header=HEADER, rate=1) as served:
        assert served.events(ASK, headers=USER)[-1][0] == "done"
        assert served.client.post("/ask", json=ASK, headers=USER).status_code == 429
        other = {HEADER: "beat@example.org"}
        assert served.events(ASK, headers=other)[-1][0] == "done"  # behind the same address
        assert served.client.get("/about").status_code == 200
    assert not any("anna" in line or "beat" in line for line in served.log)


@pytest.mark.parametrize(
    "headers",
    [[], [(HEADER, "")], [(HEADER, "anna"), (HEADER, "beat")], [(HEADER, "anna"), (HEADER, "anna")],
     [(HEADER, "a" * 257)], [("X_Forwarded_User", "anna")], [("X-Forwarded-Use", "anna")],
     [("X-Forwarded-User-", "anna")]],
)  # fmt: skip
def test_from_the_proxy_without_one_clear_name_nobody_is_answered(course, headers):
    with Served(course, user_header=HEADER) as served:
        refused = served.client.get("/search", params={"q": "oak"}, headers=headers)
    assert refused.status_code == 401 and "not signed in" in refused.json()["error"]
    assert any("the sign-in: the proxy has sent" in line for line in served.log)


@pytest.mark.parametrize(
    "forged",
    [{}, USER, USER | {"X-Forwarded-For": "127.0.0.1"}, USER | {"X-Forwarded-For": "192.0.2.1"},
     USER | {"Forwarded": "for=192.0.2.1"}, USER | {"X-Real-IP": "192.0.2.1"}],
)  # fmt: skip
def test_who_does_not_come_through_the_proxy_is_refused_whatever_they_say(course, forged):
    with Served(course, user_header=HEADER, proxies=("192.0.2.1",)) as served:
        for path in ("/health", "/search?q=oak", "/outline"):
            refused = served.client.get(path, headers=forged)
            assert (refused.status_code, refused.json()["error"]) == (
                403,
                "This server is asked through its sign-in page only.",
            )
        assert served.client.post("/ask", json=ASK, headers=forged).status_code == 403


@pytest.mark.parametrize(
    ("peer", "proxies", "is_proxy"),
    [
        ("10.0.0.7", ["10.0.0.7"], True),
        ("::1", ["127.0.0.1"], False),
        ("2001:db8::1", ["2001:db8::/64"], True),
        ("", ["127.0.0.1"], False),  # a socket that is a file
        ("localhost", ["127.0.0.1"], False),
    ],
)
def test_a_proxy_is_known_by_its_address(peer, proxies, is_proxy):
    assert SignIn(None, HEADER, proxies)._is_proxy((peer, 1)) is is_proxy


def test_a_user_still_needs_the_token_where_there_is_one(own_course):
    token = add_token(own_course, "biology")
    with Served(own_course, user_header=HEADER) as served:
        assert served.client.get("/health", headers=USER).status_code == 401
        assert served.client.get("/health", headers=USER | bearer(token)).status_code == 200
        assert served.client.get("/health", headers=bearer(token)).status_code == 401


@pytest.mark.parametrize(
    ("lines", "said"),
    [('user_header = "Cookie"', "only the proxy sets"), ('user_header = "X User"', "only the proxy sets"),
     ('user_header = "X-User\\r\\nA"', "only the proxy sets"), ('user_header = "X-User"\nproxies = []', "nobody could ask")],
)  # fmt: skip
def test_a_header_that_cannot_be_trusted_is_no_setting(own_course, lines, said):
    from lmm_core.errors import ConfigError

    write(own_course / "config.toml", f"[serve]\n{lines}\n")
    with pytest.raises(ConfigError, match=said):
        load_project(own_course / "-")
