"""Who may ask `lmm serve`: tokens of courses and groups from a file."""

import json
import os
import stat

import pytest

from lmm_core.errors import TokenError
from lmm_core.serving.tokens import TokenFile, add_token, revoke_token, tokens_path
from tests.indexing import lmm
from tests.serving import ASK, Served, command


def bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


# Tokens by course or group


def test_a_token_is_kept_as_a_hash_that_only_its_owner_reads(tmp_path):
    token, path = add_token(tmp_path, "Biology 1"), tokens_path(tmp_path)
    assert len(token) >= 32 and token not in path.read_text()
    again = add_token(tmp_path, "Biology 2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and again != token
    assert TokenFile(tmp_path).name_of(again.encode()) == "Biology 2"
    assert TokenFile(tmp_path).name_of(b"x" * 32) is None


@pytest.mark.parametrize("name", ["", "../x", "a\x1b[2J"])
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
        assert served.client.get("/health", headers=bearer("sesame")).status_code == 200
        assert served.client.get("/health", headers=bearer(token)).status_code == 200


def test_wrong_tokens_count_as_questions_wherever_they_are_tried(own_course):
    """Else a weak one could be found by pages of the notes, which count little."""
    with Served(own_course, token="sesame", rate=2) as served:
        statuses = [served.client.get("/health", headers=bearer(f"guess{n}")).status_code for n in range(4)]
    assert statuses == [401, 401, 429, 429]
    with Served(own_course, token="sesame", rate=2) as served:  # a page that asks for the token does not count so much
        assert [served.client.get("/site/x.html").status_code for _ in range(4)] == [401] * 4


def test_the_box_of_a_course_site_asks_with_the_token_of_a_group(own_course):
    token = add_token(own_course, "biology")
    site = {"Origin": "https://course.example.org", "Sec-Fetch-Site": "cross-site"}
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    with Served(own_course, origins=("https://course.example.org",), record="conversations") as served:
        allowed = served.client.options("/ask", headers=site | wanted)  # which browsers send without the token
        assert allowed.status_code == 200
        assert "authorization" in allowed.headers["access-control-allow-headers"].lower()
        refused = served.client.post("/ask", json=ASK, headers=site)
        assert refused.status_code == 401  # and the site may read why
        assert refused.headers["access-control-allow-origin"] == site["Origin"]
        done = served.events(ASK, headers=site | bearer(token))[-1][1]
        judged = {"id": done["id"], "thumb": 1}
        assert served.client.post("/judge", json=judged, headers=site).status_code == 401
        assert served.client.post("/judge", json=judged, headers=site | bearer(token)).json() == {"recorded": True}


@pytest.mark.parametrize("data", [b"{", b'{"format": 1, "tokens": [{"name": "x"}]}', b" " * 1_000_001])
def test_a_damaged_file_lets_nobody_in(own_course, data):
    token = add_token(own_course, "biology")
    with Served(own_course, token="sesame") as served:
        tokens_path(own_course).write_bytes(data)
        for given in (token, "sesame", ""):
            refused = served.client.get("/health", headers=bearer(given))
            assert refused.status_code == 503 and "cannot be checked" in refused.json()["error"]


def test_a_file_that_others_may_read_or_that_is_none_lets_nobody_in(own_course):
    token, path = add_token(own_course, "biology"), tokens_path(own_course)

    def status():
        return served.client.get("/health", headers=bearer(token)).status_code

    with Served(own_course) as served:
        path.chmod(0o644)  # as one that has come with a cloned folder
        assert status() == 503
        path.chmod(0o600)
        assert status() == 200
        path.rename(path.with_name("elsewhere.json"))
        assert status() == 503  # gone, while it runs
        path.symlink_to("elsewhere.json")
        assert status() == 503
        path.unlink()
        os.mkfifo(path, 0o600)
        assert status() == 503


def test_the_commands_make_list_and_revoke(own_course, monkeypatch):
    monkeypatch.chdir(own_course)
    made, said = lmm("serve token add 'Biology 1'")
    assert len(made.strip()) >= 32 and "shown only once" in said and "requires a token" in said
    listed = lmm("serve token list --json")[0]
    assert [one["name"] for one in json.loads(listed)] == ["Biology 1"] and "sha256" not in listed
    assert "revoke 'Biology 1'" in lmm("serve token add 'Biology 1'", status=1)[1]
    assert "there is: Biology 1" in lmm("serve token revoke x", status=1)[1]
    assert "nobody can ask" in lmm("serve token revoke 'Biology 1'")[1]
    assert "nobody can ask" in lmm("serve token list")[1]


@pytest.mark.slow
def test_it_says_at_its_start_who_may_ask_and_does_not_start_with_a_damaged_file(own_course, monkeypatch):
    add_token(own_course, "biology")
    with command(own_course) as (process, _):
        start = "".join(process.said)
    assert "a token is required: biology" in start
    assert "students can ask for: exercise. To keep a part from them: skip: true in its block\n" in start
    tokens_path(own_course).write_text("{")
    monkeypatch.chdir(own_course)
    assert "damaged" in lmm("serve --port 0", status=1)[1]
