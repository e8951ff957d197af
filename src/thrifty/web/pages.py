"""The pages for people: they start a case, answer its questions one by one, and get a receipt.

Pages are made on the server and work without scripts. A form that was accepted is answered by a
redirection to a page, so that a reload repeats nothing; one that was not, by the same page with
what was typed and what is wrong. URLs contain the handle of a case, never an id or a value.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from thrifty.bundle import OperatingPoints
from thrifty.costs.money import money
from thrifty.errors import CaseNotFoundError, DataError, ThriftyError
from thrifty.serve import Case, Cases, CaseState
from thrifty.web.curve import draw_curve
from thrifty.web.forms import Field, Form, field_of, read_amount, read_fields, read_form
from thrifty.web.problems import ProblemError, problem_of
from thrifty.web.render import problem_page, render
from thrifty.web.settings import Settings
from thrifty.web.views import (
    about_model,
    answer_lines,
    charge_lines,
    cost_and_quality,
    ended_words,
    has_client_step,
    pace_words,
    purpose_words,
    short_name,
    spending,
    standing_of,
    time_words,
)

__all__ = ["Pages"]

MAX_LISTED = 100
# More categories than this are a list to choose from.
MAX_RADIOS = 6
# With more features, a person would search for long; what is needed is asked one by one anyway.
MAX_KNOWN = 60

Errors = Sequence[tuple[str, str]]
"""What is wrong, each with the id of the input that it is about."""


@dataclass(frozen=True)
class Typed:
    """What was typed into the form for a new case, besides values."""

    reference: str = ""
    cap: str = ""
    cap_error: str = ""


class Pages:
    """Handlers for the pages of one model.

    Parameters
    ----------
    cases : Cases
    name : str
        How the model is called.
    settings : Settings
    points : OperatingPoints, optional
        What the model can cost and be worth; those that the runtime paces with, if it does.
    """

    def __init__(
        self, cases: Cases, name: str, settings: Settings, points: OperatingPoints | None = None
    ) -> None:
        self._cases, self._name, self._settings = cases, name, settings
        self._predictor = predictor = cases.runtime.predictor
        self._unit = predictor.prices.unit
        self._pacing = cases.runtime.pacing
        if self._pacing is not None:
            points = self._pacing.points
        curve = None
        if points is not None and len(points) > 1:
            curve = draw_curve(
                points.bills, points.qualities, points.default, self._unit, points.metric
            )
        self._model = {
            "name": name,
            "unit": self._unit,
            "predicts": purpose_words(predictor),
            "about": about_model(predictor),
            "cost_and_quality": cost_and_quality(predictor),
            "curve": curve,
        }
        names = predictor.schema.names
        needs = {need for source in cases.runtime.sources for need in source.needs}
        self._context = sorted(needs.difference(map(str, names)))
        reads = [
            j for j in predictor.reads.nonzero()[0].tolist() if j not in predictor.schema.calls
        ]
        few = reads if len(reads) <= MAX_KNOWN else []
        self._known = [field_of(predictor, names[j], is_known=True) for j in few]

    @property
    def routes(self) -> list[Route]:
        """The routes of the pages."""

        def route(path: str, handler: Handler, method: str) -> Route:
            return Route(path, _for_people(handler), methods=[method])

        return [
            route("/", self.home, "GET"),
            route("/cases", self.create, "POST"),
            route("/cases/{case}", self.show, "GET"),
            route("/cases/{case}/receipt", self.receipt, "GET"),
            route("/cases/{case}/answer", self.answer, "POST"),
            route("/cases/{case}/know", self.know, "POST"),
            route("/cases/{case}/skip", self.skip, "POST"),
            route("/cases/{case}/stop", self.stop, "POST"),
            route("/cases/{case}/back", self.back, "POST"),
            # Where a form was refused, somebody may load the page again.
            Route("/cases", lambda _: _go("/"), methods=["GET"]),
            Route("/cases/{case}/{step}", _to_case, methods=["GET"]),
        ]

    # --- the model and its cases

    async def home(self, request: Request) -> Response:
        """Show the model, a form for a new case, and the cases that are open."""
        return await self._home({}, Typed(), self._known)

    async def create(self, request: Request) -> Response:
        """Start a case, or come back to it."""
        form = await read_form(request)
        reference, cap = (form.get(name, [""])[0].strip() for name in ("reference", "cap"))
        typed = Typed(reference, cap)
        values, known = read_fields(self._predictor, self._known, form)
        errors = [(field.name, f"{field.label}: {field.error}") for field in known if field.error]
        amount = None
        try:
            amount = read_amount(cap)
        except DataError as error:
            typed = replace(typed, cap_error=str(error))
            errors.insert(0, ("cap", f"Cap: {error}"))
        if errors:
            return await self._home(form, typed, known, errors, 422)
        case = Case(
            id=reference or None,
            known=values,
            context=self._given(form),
            cap=amount,
            deadline=0.9 * self._settings.timeout,
        )
        try:
            state = await self._cases.create(case)
        except DataError as error:
            status = problem_of(error).status
            return await self._home(form, typed, known, [("", str(error))], status)
        return _go(f"/cases/{state.handle}")

    async def _home(
        self,
        form: Form,
        typed: Typed,
        known: Sequence[Field],
        errors: Errors = (),
        status: int = 200,
    ) -> Response:
        now = datetime.now(UTC)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        spent = await self._cases.spent_since(midnight.timestamp())
        pace = None if self._pacing is None else self._pacing.metrics()
        found = await self._cases.open_cases(MAX_LISTED + 1)
        cases = []
        for each in found[:MAX_LISTED]:
            started, iso = time_words(each.started_at)
            cases.append(
                {
                    "handle": each.handle,
                    "short": short_name(each.handle),
                    "started": started,
                    "iso": iso,
                    "answers": each.n_answers,
                    "spent": money(each.spent, self._unit),
                }
            )
        return render(
            "home.html",
            status,
            **self._model,
            here="/",
            has_session=self._settings.token is not None,
            errors=errors,
            typed=typed,
            context=self._context_inputs(form),
            known=known,
            known_open=any(field.typed or field.error for field in known),
            cases=cases,
            cases_left_off=len(found) > MAX_LISTED,
            today=spending(
                spent,
                None if pace is None else pace["ceilings"].get("day"),
                self._unit,
                "today's limit",
                "Spent since midnight (UTC).",
            ),
            pace="" if pace is None else pace_words(pace, self._unit),
        )

    # --- one case

    async def show(self, request: Request) -> Response:
        """Show a case: what to get next, or its answer."""
        return self._show(await self._cases.get(request.path_params["case"]))

    async def answer(self, request: Request) -> Response:
        """Take values that were bought."""
        return await self._take(request, is_known=False)

    async def know(self, request: Request) -> Response:
        """Take values that were there already: they are free."""
        return await self._take(request, is_known=True)

    async def skip(self, request: Request) -> Response:
        """Go on without a feature."""
        form = await read_form(request)
        state = await self._cases.get(request.path_params["case"])
        asked = {field_of(self._predictor, ask.feature).name: ask.feature for ask in state.asks}
        name = form.get("feature", [""])[0]
        if name not in asked:  # it was answered meanwhile, perhaps by somebody else
            return _go(f"/cases/{state.handle}")
        context = self._given(form)
        return await self._step(state.handle, form, self._cases.skip, [asked[name]], context)

    async def stop(self, request: Request) -> Response:
        """End a case with its best answer so far."""
        form = await read_form(request)
        return await self._step(request.path_params["case"], form, self._cases.stop)

    async def back(self, request: Request) -> Response:
        """Take back the last answer."""
        form = await read_form(request)
        return await self._step(request.path_params["case"], form, self._cases.back)

    async def receipt(self, request: Request) -> Response:
        """Show the receipt of a case, to be printed."""
        state = await self._cases.get(request.path_params["case"])
        receipt = state.receipt
        printed, iso = time_words(time.time())
        extra = receipt.spent - receipt.total
        spent = money(receipt.spent, self._unit)
        words = f"{spent}, as much as the model used."
        if abs(extra) > 1e-9:
            words = f"{spent} in all, with what failed, came late or was not used."
        return render(
            "receipt.html",
            has_session=self._settings.token is not None,
            name=self._name,
            handle=state.handle,
            short=short_name(state.handle),
            printed=printed,
            iso=iso,
            now=standing_of(receipt),
            ended=ended_words(receipt),
            cap="" if state.left is None else money(receipt.spent + state.left, self._unit),
            used=[*answer_lines(receipt)],
            evaluation=money(receipt.evaluation, self._unit) if receipt.evaluation else "",
            total=money(receipt.total, self._unit),
            spent=spent,
            spent_words=words,
            charges=[*charge_lines(receipt)],
        )

    async def _take(self, request: Request, is_known: bool) -> Response:
        """Take what was typed for the questions of a case."""
        form = await read_form(request)
        state = await self._cases.get(request.path_params["case"])
        values, fields = read_fields(self._predictor, self._fields(state), form)
        if fields and not values and not any(field.error for field in fields):
            fields[0] = replace(fields[0], error="Answer it, or choose another button.")
        errors = [(field.name, f"{field.label}: {field.error}") for field in fields if field.error]
        if errors:
            return self._show(state, form, fields, errors, 422)
        known = values if is_known else {}
        told = {} if is_known else values
        return await self._step(
            state.handle, form, self._cases.tell, told, known, self._given(form)
        )

    async def _step(
        self, handle: str, form: Form, step: Callable[..., Awaitable[CaseState]], *arguments: Any
    ) -> Response:
        """Make a step; if the case refuses it, show the case with what was typed, and why."""
        try:
            await step(handle, *arguments)
        except CaseNotFoundError:
            raise
        except DataError as error:
            state = await self._cases.get(handle)
            _, fields = read_fields(self._predictor, self._fields(state), form)
            return self._show(state, form, fields, [("", str(error))], problem_of(error).status)
        return _go(f"/cases/{handle}")

    def _show(
        self,
        state: CaseState,
        form: Form | None = None,
        fields: Sequence[Field] | None = None,
        errors: Errors = (),
        status: int = 200,
    ) -> Response:
        receipt, unit = state.receipt, self._unit
        fields = self._fields(state) if fields is None else fields
        now = standing_of(receipt)
        title = f"Answer: {now.answer}" if state.done else "Waiting for sources"
        if state.asks:
            title = f"Next: {fields[0].label}"
        cap = None if state.left is None else receipt.spent + state.left
        return render(
            "case.html",
            status,
            has_session=self._settings.token is not None,
            name=self._name,
            handle=state.handle,
            short=short_name(state.handle),
            title=title,
            errors=errors,
            done=state.done,
            is_late=receipt.stopped == "deadline",
            ended=ended_words(receipt),
            now=now,
            asks=[
                {"field": field, "price": money(ask.price, unit), "why": ask.why}
                for field, ask in zip(fields, state.asks, strict=True)
            ],
            max_radios=MAX_RADIOS,
            others_open=any(field.typed or field.error for field in fields[1:]),
            # A case that has lost its context says so; then it can be typed in again.
            context=self._context_inputs(form or {}) if status == 409 else [],
            can_go_back=has_client_step(receipt),
            money=spending(receipt.spent, cap, unit, "the cap", "There is no cap."),
            answers=[*answer_lines(receipt)],
        )

    def _fields(self, state: CaseState) -> list[Field]:
        """Return the inputs for the questions of a case."""
        return [field_of(self._predictor, ask.feature) for ask in state.asks]

    def _given(self, form: Form) -> dict[str, str]:
        """Return the context that was typed."""
        typed = {each["name"]: each["typed"] for each in self._context_inputs(form)}
        return {name: text for name, text in typed.items() if text}

    def _context_inputs(self, form: Form) -> list[dict[str, str]]:
        """Return the inputs of the names that sources look up in the context of a case."""
        return [
            {"id": f"c{i}", "name": name, "typed": form.get(f"c{i}", [""])[0].strip()}
            for i, name in enumerate(self._context)
        ]


Handler = Callable[[Request], Awaitable[Response]]


def _for_people(handler: Handler) -> Handler:
    """Return a handler whose errors are pages."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ProblemError as problem:
            return problem_page(problem)
        except ThriftyError as error:
            return problem_page(problem_of(error))

    return handle


async def _to_case(request: Request) -> Response:
    return _go(f"/cases/{request.path_params['case']}")


def _go(path: str) -> Response:
    """Send the browser to a page: a reload there repeats nothing."""
    return RedirectResponse(path, 303)
