"""A case from the first page to the receipt, by the forms that a browser would send."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from thrifty.bundle import OperatingPoints
from thrifty.model import Forest
from thrifty.serve import Cases, FunctionSource, HttpSource, Pacing, ReplaySource, UnclearError
from thrifty.web.render import EMPTY

AGE = "<b>age</b>"


def name_of(predictor, feature) -> str:
    """Return the name of the input of a feature."""
    return f"f{predictor.schema.index(feature)}"


def start(client, **form):
    """Start a case and return its page."""
    page = client.post("/cases", data={"reference": "", "cap": "", **form})
    assert re.fullmatch("/cases/[0-9a-f]+", page.url.path)
    return page


def press(client, page, button: str, **form):
    """Send the form of a case with one of its buttons."""
    path = re.match("/cases/[0-9a-f]+", page.url.path)[0]
    return client.post(f"{path}/{button}", data={"pressed": button, **form})


def text_of(page) -> str:
    """Return the text that a page shows."""
    body = re.sub("</?(bdi|strong|time)[^>]*>", "", page.text[page.text.index("<main") :])
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", body)))


def heading(page) -> str:
    return unescape(re.sub("<[^>]+>", "", re.findall("<h1.*?</h1>", page.text, re.DOTALL)[0]))


@pytest.fixture
def client(browse, hostile):
    return browse(hostile)


@pytest.fixture
def inputs(hostile) -> dict[str, str]:
    """The names of the inputs, by feature."""
    return {feature: name_of(hostile, feature) for feature in (AGE, "sex", "grade")}


# --- the first page


def test_the_first_page_says_what_the_model_does(client):
    text = text_of(client.get("/"))
    assert "Predicts one of 2 classes: <i>ill</i>, well." in text
    assert "Prices are in EUR." in text
    assert "EUR 0.00 Spent since midnight (UTC)." in text
    assert "Open cases None." in text


def test_hostile_names_and_labels_stay_text(client, inputs):
    pages = [client.get("/"), start(client, reference="<em>17</em>")]
    pages.append(press(client, pages[-1], "answer", **{inputs[AGE]: "<s>x</s>"}))
    press(client, pages[1], "answer", **{inputs[AGE]: "30"})
    pages.append(client.get(pages[1].url.path))
    press(client, pages[1], "answer", **{inputs["sex"]: "0"})
    press(client, pages[1], "stop")
    pages += [client.get(f"{pages[1].url.path}{end}") for end in ("", "/receipt")]
    pages.append(client.get("/docs"))
    for page in pages:
        assert not re.search(r"<(script|b|i|u|em|s)\b", page.text)
    assert "<u>model</u>" in text_of(pages[0]) and AGE in text_of(pages[1])


def test_no_page_has_scripts_or_inline_styles(client):
    for page in (client.get("/"), start(client), client.get("/docs")):
        assert not re.search(r"<script|<style|\sstyle=|\son\w+=|javascript:", page.text)
        assert not re.search(r"https?://(?!localhost)", page.text)


def test_an_open_case_is_listed_until_it_ends(client):
    page = start(client)
    assert f'href="{page.url.path}"' in client.get("/").text
    press(client, page, "stop")
    assert f'href="{page.url.path}"' not in client.get("/").text


def test_the_spending_of_today_counts(client, inputs):
    press(client, start(client), "answer", **{inputs[AGE]: "30"})
    assert "EUR 1.00 Spent since midnight (UTC)." in text_of(client.get("/"))


def test_more_open_cases_than_fit_are_left_off(client, monkeypatch):
    monkeypatch.setattr("thrifty.web.pages.MAX_LISTED", 1)
    for _ in range(2):
        start(client)
    assert "The oldest 1 are shown." in text_of(client.get("/"))


def test_a_model_of_one_point_says_what_it_promises(browse, predictor):
    origin = {"metric": "accuracy", "held_out": {"bill": 3.22, "quality": 0.965}}
    page = browse(predictor.replace(provenance=origin)).get("/")
    assert "Cost and quality CAD 3.22 per case on average, accuracy 96.5%" in text_of(page)
    assert "<figure" not in page.text


def test_a_model_that_promises_nothing_has_no_empty_chart(client):
    assert "Cost and quality" not in client.get("/").text


@pytest.fixture
def points(hostile) -> OperatingPoints:
    """Two operating points: nothing, and the hostile model."""
    free = hostile.replace(model=Forest.constant([0.4, 0.6], "mean", n_features=4))
    return OperatingPoints([free, hostile], [0.0, 4.0], [0.6, 0.9], 1, "<i>accuracy</i>")


def test_a_model_of_several_points_shows_its_curve(browse, hostile, points):
    page = browse(hostile, points=points).get("/")
    assert page.text.count("<circle") == 2 and page.text.count('<circle class="here"') == 1
    assert "EUR 4.00 per case on average" in text_of(page)
    assert "<i>" not in page.text and "style=" not in page.text


def test_pacing_shows_the_budget_and_the_limit_of_a_day(browse, hostile, points, inputs):
    client = browse(hostile, pacing=Pacing(points, budget=5.0, per_day=100.0))
    text = text_of(client.get("/"))
    assert "EUR 0.00 EUR 100.00 left of today's limit of EUR 100.00." in text
    assert "No case has ended yet; the budget is EUR 5.00." in text
    press(client, press(client, start(client), "answer", **{inputs[AGE]: "30"}), "stop")
    text = text_of(client.get("/"))
    assert "EUR 99.00 left of today's limit" in text
    assert "EUR 1.00 per case on average so far (1 case)" in text


# --- a new case


def test_the_same_reference_leads_to_the_same_case(client):
    first, again = start(client, reference="A-17"), start(client, reference=" A-17 ")
    assert first.url == again.url
    assert "A-17" not in first.text and "A-17" not in str(first.url)
    assert start(client).url != start(client).url


def test_known_values_are_free(client, inputs):
    page = start(client, **{inputs[AGE]: "30", inputs["sex"]: "1"})
    assert heading(page) == "grade"
    assert "<b>age</b>: 30 free" in text_of(page)
    assert "Spent EUR 0.00" in text_of(page)


def test_a_cap_is_shown_with_what_is_left(client, inputs):
    page = press(client, start(client, cap="4"), "answer", **{inputs[AGE]: "30"})
    assert "EUR 3.00 left of the cap of EUR 4.00." in text_of(page)


@pytest.mark.parametrize("cap", ["four", "-1", "nan"])
def test_a_wrong_cap_is_shown_next_to_its_field(client, cap):
    page = client.post("/cases", data={"reference": "A-17", "cap": cap})
    assert page.status_code == 422
    assert 'role="alert" tabindex="-1" autofocus' in page.text and 'href="#cap"' in page.text
    assert f'value="{cap}"' in page.text and 'value="A-17"' in page.text


def test_a_wrong_known_value_is_shown_next_to_its_field(client, inputs):
    page = client.post("/cases", data={inputs[AGE]: "old"})
    assert page.status_code == 422
    assert f'id="{inputs[AGE]}-error"' in page.text and 'value="old"' in page.text
    assert "<details open>" in page.text


def test_another_cap_for_a_case_that_exists_is_refused(client):
    start(client, reference="A-17", cap="4")
    page = client.post("/cases", data={"reference": "A-17", "cap": "5"})
    assert page.status_code == 409 and "cap: the case has another one" in text_of(page)


def test_a_model_of_many_features_does_not_list_them(browse, hostile, monkeypatch):
    monkeypatch.setattr("thrifty.web.pages.MAX_KNOWN", 2)
    assert "Values you already have" not in browse(hostile).get("/").text


def test_features_without_names_go_by_their_index(browse, unnamed):
    client = browse(unnamed)
    page = start(client)
    assert heading(page) == "Feature 0"
    page = press(client, page, "answer", f0="3.5")
    assert heading(page) == "Answer" and "0: 3.5" in text_of(page)


# --- the questions of a case


def test_a_question_has_its_price_its_reason_and_the_best_answer_so_far(client):
    page = start(client)
    text = text_of(page)
    assert heading(page) == AGE
    assert "Get next <b>age</b> EUR 1.00 Why: can still move" in text
    assert re.search(r"Best answer so far (<i>ill</i>|well) Probability \d\d%", text)
    assert "In training: 20 to 80" in text
    assert f"<title>Next: {AGE}" in unescape(page.text)


def test_inputs_fit_their_columns(client, inputs):
    page = start(client)
    assert f'id="{inputs[AGE]}" name="{inputs[AGE]}" type="number" step="any"' in page.text
    page = press(client, page, "answer", **{inputs[AGE]: "30"})
    assert page.text.count('type="radio"') == 3  # two categories, and empty
    page = press(client, page, "answer", **{inputs["sex"]: "0"})
    assert "<select" in page.text and page.text.count("<option") == 10


def test_a_saved_value_is_charged(client, inputs):
    page = press(client, start(client), "answer", **{inputs[AGE]: "30"})
    assert page.history[0].status_code == 303
    assert heading(page) == "sex"
    assert "<b>age</b>: 30 EUR 1.00" in text_of(page)
    assert "Spent EUR 1.00" in text_of(page)


def test_what_one_already_has_is_free(client, inputs):
    page = press(client, start(client), "know", **{inputs[AGE]: "30"})
    assert "<b>age</b>: 30 free" in text_of(page) and "Spent EUR 0.00" in text_of(page)


def test_a_value_that_came_back_empty_is_charged(client, inputs):
    page = press(client, start(client), "answer", **{inputs[AGE]: EMPTY})
    assert "<b>age</b>: came back empty EUR 1.00" in text_of(page)


def test_what_is_not_possible_is_free(client, inputs):
    page = press(client, start(client), "skip", feature=inputs[AGE])
    assert heading(page) != AGE
    assert "<b>age</b>: not possible free" in text_of(page)


def test_what_was_answered_meanwhile_is_not_skipped(client, inputs):
    page = start(client)
    press(client, page, "answer", **{inputs[AGE]: "30"})
    page = press(client, page, "skip", feature=inputs[AGE])
    assert "<b>age</b>: 30" in text_of(page)


def test_one_can_go_back(client, inputs):
    page = start(client)
    assert ">Back</button>" not in page.text
    page = press(client, page, "answer", **{inputs[AGE]: "30"})
    assert ">Back</button>" in page.text
    page = press(client, page, "back")
    assert heading(page) == AGE and "Spent EUR 0.00" in text_of(page)


def test_one_can_stop_and_go_back_from_there(client, inputs):
    page = press(client, start(client), "answer", **{inputs[AGE]: "30"})
    page = press(client, page, "stop")
    assert heading(page) == "Answer"
    assert "Stopped on request" in text_of(page)
    assert heading(press(client, page, "back")) == "sex"


@pytest.mark.parametrize("text", ["old", "1,5", "inf"])
def test_a_wrong_value_is_kept_and_explained(client, inputs, text):
    page = press(client, start(client), "answer", **{inputs[AGE]: text})
    assert page.status_code == 422
    assert f'type="text" inputmode="decimal" autocomplete="off" value="{text}"' in page.text
    assert 'aria-invalid="true"' in page.text and f'href="#{inputs[AGE]}"' in page.text
    assert page.text.count("<title>Problem: Next") == 1


def test_nothing_typed_is_explained(client):
    page = press(client, start(client), "answer")
    assert page.status_code == 422 and "Answer it, or choose another button." in text_of(page)


def test_another_value_of_what_was_answered_meanwhile_is_refused(client, inputs):
    page = start(client)
    press(client, page, "answer", **{inputs[AGE]: "30"})
    again = press(client, page, "answer", **{inputs[AGE]: "40"})
    assert again.status_code == 422 and heading(again) == "sex"


def test_what_the_case_refuses_is_explained(client):
    page = press(client, start(client), "back")
    assert page.status_code == 409
    assert "there is no answer to take back" in text_of(page)


def test_several_questions_of_a_round_are_answered_at_once(browse, predictor):
    client = browse(predictor)
    page = press(client, start(client), "answer", **{name_of(predictor, "cp"): "1"})
    assert "1 more that can be answered now" in page.text
    values = {name_of(predictor, feature): "1" for feature in ("age", "sex")}
    text = text_of(press(client, page, "answer", **values))
    assert "age: 1" in text and "sex: 1" in text


def test_an_error_in_another_question_of_the_round_is_seen(browse, predictor):
    client = browse(predictor)
    page = press(client, start(client), "answer", **{name_of(predictor, "cp"): "1"})
    first, second = (name_of(predictor, feature) for feature in ("age", "sex"))
    page = press(client, page, "answer", **{first: "1", second: "x"})
    assert page.status_code == 422 and "<details open>" in page.text
    assert 'value="1"' in page.text  # nothing was saved, and nothing is lost


# --- the end


def test_a_case_ends_with_its_answer_and_a_receipt(client, inputs, hostile):
    page = start(client, cap="10")
    page = press(client, page, "answer", **{inputs[AGE]: "30"})
    page = press(client, page, "know", **{inputs["sex"]: "1"})
    page = press(client, page, "answer", **{inputs["grade"]: "0"})
    labels = hostile.schema.columns[hostile.schema.index("sex")].categories
    assert heading(page) == "Answer"
    walk = hostile.walk({"sex": labels[1]})
    walk.tell({AGE: 30.0, "grade": "A"})
    assert walk.done
    text = text_of(client.get(f"{page.url.path}/receipt"))
    assert f"Answer {walk.answer}" in text and "Cap EUR 10.00" in text
    assert "Total EUR 4.00" in text and "Spent EUR 4.00" in text
    assert "1 <b>age</b>: 30 asked for EUR 1.00" in text
    assert "grade: A asked for EUR 3.00" in text


def test_a_receipt_lists_purchases_in_their_order(browse, predictor):
    client = browse(predictor)
    page = start(client)
    order = []
    while heading(page) != "Answer" and len(order) < 3:
        order.append(heading(page))
        page = press(client, page, "answer", **{name_of(predictor, order[-1]): "1"})
    press(client, page, "stop")
    text = text_of(client.get(f"{page.url.path}/receipt"))
    spent = text[text.index("What was spent") :]
    assert [*map(spent.index, order)] == sorted(map(spent.index, order))
    assert order != sorted(order)


def test_a_free_answer_has_a_receipt(client):
    page = press(client, start(client), "stop")
    assert "Nothing: the answer is free." in text_of(client.get(f"{page.url.path}/receipt"))


@pytest.mark.parametrize("end", ["", "/receipt"])
def test_an_unknown_case_is_not_found(client, end):
    page = client.get(f"/cases/0000{end}")
    assert page.status_code == 404 and heading(page) == "There is no such case"


@pytest.mark.parametrize("button", ["answer", "know", "skip", "stop", "back"])
def test_no_step_of_an_unknown_case_is_taken(client, button):
    assert client.post(f"/cases/0000/{button}", data={"a": "b"}).status_code == 404


@pytest.mark.parametrize("button", ["answer", "know", "skip", "stop", "back"])
def test_another_site_cannot_press_a_button(client, button):
    page = start(client)
    response = client.post(
        f"{page.url.path}/{button}", data={"a": "b"}, headers={"origin": "https://evil.example"}
    )
    assert response.status_code == 403


def test_a_refused_step_that_is_loaded_again_leads_to_its_case(client):
    page = start(client)
    again = press(client, page, "answer")
    assert client.get(again.url.path).url == page.url
    assert client.get("/cases").url.path == "/"


def test_what_is_no_form_is_a_problem(client):
    page = client.post("/cases", json={"cap": 3})
    assert page.status_code == 415 and heading(page) == "Not a form"


# --- sources


def test_the_context_that_sources_need_is_asked_for(browse, hostile):
    rows = {"ann": {"sex": "f", "grade": "A"}}
    client = browse(hostile, [ReplaySource("register", rows, ["sex", "grade"], by="who")])
    assert '<label for="c0"><bdi>who</bdi>' in client.get("/").text
    page = press(client, start(client, c0="ann"), "answer", **{name_of(hostile, AGE): "30"})
    assert heading(page) == "Answer"
    text = text_of(client.get(f"{page.url.path}/receipt"))
    assert "grade: A" in text and "ann" not in text


def test_a_feature_that_a_url_refers_to_is_no_context(browse, hostile):
    source = HttpSource("http", "http://localhost/{who}/{sex}", {"grade": "/grade"})
    page = browse(hostile, [source]).get("/").text
    assert "<bdi>who</bdi>" in page and page.count("<bdi>sex</bdi>") == 1


def test_a_context_that_was_lost_can_be_typed_again(browse, hostile):
    rows = {"ann": {"sex": "f", "grade": "A"}}
    client = browse(hostile, [ReplaySource("register", rows, ["sex", "grade"], by="who")])
    page = start(client, c0="ann")
    cases = next(route.endpoint for route in client.app._app.routes if route.path == "/v1/cases")
    cases.__self__._cases._contexts.clear()  # as after a restart
    value = {name_of(hostile, AGE): "30"}
    page = press(client, page, "answer", **value)
    assert page.status_code == 409 and "send 'who' again" in text_of(page)
    assert '<label for="c0">' in page.text and 'value="30"' in page.text
    assert heading(press(client, page, "answer", **value, c0="ann")) == "Answer"


def test_a_source_that_fails_is_on_the_receipt(browse, hostile):
    def broken(query):
        raise UnclearError("the connection was lost")

    client = browse(hostile, [FunctionSource("bureau", broken, [AGE])])
    page = press(client, start(client), "stop")
    text = text_of(client.get(f"{page.url.path}/receipt"))
    assert "unclear: counts as paid, source bureau EUR 1.00" in text
    assert "with what failed, came late or was not used" in text


def test_a_case_whose_sources_are_being_asked_can_go_on(client, monkeypatch):
    page = start(client)
    get = Cases.get

    async def get_waiting(self, handle):
        return replace(await get(self, handle), asks=())

    monkeypatch.setattr(Cases, "get", get_waiting)
    waiting = client.get(page.url.path)
    assert heading(waiting) == "Waiting for sources" and ">Go on</button>" in waiting.text
    assert press(client, waiting, "answer").status_code == 200


def test_a_case_that_was_stopped_by_its_deadline_can_go_on(client, monkeypatch):
    page = press(client, start(client), "stop")
    get = Cases.get

    async def get_late(self, handle):
        state = await get(self, handle)
        late = replace(state.receipt, stopped="deadline", reason="deadline reached")
        return replace(state, receipt=late)

    monkeypatch.setattr(Cases, "get", get_late)
    page = client.get(page.url.path)
    assert "Deadline reached." in text_of(page) and ">Go on</button>" in page.text
