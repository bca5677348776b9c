"""The OpenAPI 3.1 document, made from the routes table: every route, field, answer, status and error body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from holdfast.domain.errors import HoldfastError, family
from holdfast.entrypoints.http.claims import Reason
from holdfast.entrypoints.http.routes import BASE, ROUTES, Route
from holdfast.surfaces.wire.fields import Field, Kind, object_schema
from holdfast.surfaces.wire.shape import Json, Shape

JSON = "application/json"
ALWAYS = (400, 401, 403, 404, 413, 415, 423, 429, 500, 503)
WRITING = (409, 412, 507)
_ENTRY = "Entry"


@cache
def document(version: str) -> Json:
    paths: dict[str, Json] = {}
    shapes: dict[str, Json] = {}
    for route in ROUTES:
        paths.setdefault(f"{BASE}/{route.path}", {})[route.method.lower()] = _operation(route)
        for call in filter(None, (route.call, route.purge)):
            shapes |= _schemas(call.answer)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": version,
            "summary": "Memory for AI agents: encrypted, versioned, access-checked",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in ROUTES)],
        "paths": paths | _outside(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": shapes | {"Error": _error_schema(), "FactsError": _facts_error_schema()},
            "headers": {
                "ETag": {"description": "The memory's revision, quoted.", "schema": {"type": "string"}},
                "RetryAfter": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
            },
        },
    }


def _operation(route: Route) -> Json:
    call = route.call
    said: Json = {
        "tags": [route.tag],
        "operationId": _operation_id(route),
        "summary": call.sentence.split(". ")[0].rstrip("."),
        "description": call.sentence,
        "parameters": list(_parameters(route)),
        "responses": {"200": _good(route)} | _refusals(route),
    }
    if route.takes_body:
        said["requestBody"] = _body(route)
    return said


def _operation_id(route: Route) -> str:
    words = route.path.replace("{", "").replace("}", "").replace("-", "_").split("/")
    return "_".join((route.method.lower(), *words))


def _parameters(route: Route) -> Iterator[Json]:
    fields = {field.name: field for field in route.call.fields}
    for name in route.in_path:
        yield _parameter(fields[name], "path", required=True)
    if not route.takes_body:
        for field in route.in_query:
            yield _parameter(field, "query", required=field.missing is not None)
    if route.call.writes:
        yield _header(
            "Idempotency-Key", "The same key again is answered as before; with another request: 409."
        )
    if any(field.name == "expected_revision" for field in route.call.fields):
        yield _header("If-Match", 'The ETag that a change must find, such as "3".')
    if route.call.answer.name == _ENTRY and not route.call.writes:
        yield _header("If-None-Match", "Answered 304 when the memory is still at this ETag.")


def _parameter(field: Field, place: str, *, required: bool) -> Json:
    schema = {
        name: value for name, value in field.schema().items() if name not in ("description", "examples")
    }
    if place == "path":
        schema = {"type": "string", "minLength": 1}
    shown: Json = {
        "name": field.name,
        "in": place,
        "required": required,
        "description": field.sentence,
        "schema": schema,
    }
    if field.kind is Kind.TEXTS:
        shown |= {"style": "form", "explode": True}
    return shown if field.example is None else shown | {"example": field.example}


def _header(name: str, sentence: str) -> Json:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": sentence,
        "schema": {"type": "string"},
    }


def _body(route: Route) -> Json:
    if not route.whole:
        schema = object_schema(route.fields)
    else:
        schema = next(field for field in route.fields if field.name == route.whole).schema()
    return {
        "required": bool(schema.get("required")) or bool(route.whole),
        "content": {JSON: {"schema": schema}},
    }


def _good(route: Route) -> Json:
    shapes = [call.answer for call in (route.call, route.purge) if call is not None]
    refs = [{"$ref": f"#/components/schemas/{shape.name}"} for shape in shapes]
    shown: Json = {
        "description": "Done.",
        "content": {JSON: {"schema": refs[0] if len(refs) == 1 else {"oneOf": refs}}},
    }
    if route.call.answer.name == _ENTRY:
        shown["headers"] = {"ETag": {"$ref": "#/components/headers/ETag"}}
    return shown


def _refusals(route: Route) -> Json:
    """Every error of the closed list that the route can come to, by status."""
    statuses = [*ALWAYS, *(WRITING if route.call.writes else ())]
    by_status: dict[int, list[type[HoldfastError]]] = {}
    for error in family().values():
        by_status.setdefault(error.status, []).append(error)
    shown = {
        str(status): _refusal(by_status[status], facts=route.tag == "facts")
        for status in sorted(statuses)
        if status in by_status
    }
    if route.call.answer.name == _ENTRY and not route.call.writes:
        shown["304"] = {"description": "Still at that ETag."}
    return shown


def _refusal(errors: list[type[HoldfastError]], *, facts: bool) -> Json:
    name = "FactsError" if facts else "Error"
    shown: Json = {
        "description": " · ".join(f"{error.code}: {error().message}" for error in errors),
        "content": {
            JSON: {
                "schema": {"$ref": f"#/components/schemas/{name}"},
                "examples": {error.code: {"value": _example(error, facts=facts)} for error in errors},
            }
        },
    }
    if errors[0].status in (429, 503):
        shown["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
    return shown


def _example(error: type[HoldfastError], *, facts: bool) -> Json:
    message = error().message
    if not facts:
        return {"error": error.code, "message": message}
    kind = "invalid_input" if error.status == 400 else error.code
    return {"error": kind, "code": error.code, "message": message}


def _error_schema() -> Json:
    return {
        "type": "object",
        "properties": {
            "error": {"type": "string", "enum": sorted(family())},
            "message": {"type": "string", "description": "One sentence that says what to do."},
            "reason": {"type": "string", "enum": [reason.value for reason in Reason]},
        },
        "required": ["error", "message"],
        "additionalProperties": False,
    }


def _facts_error_schema() -> Json:
    plain = _error_schema()
    codes = sorted(family())
    plain["properties"] |= {
        "error": {"type": "string", "enum": ["invalid_input", *codes]},
        "code": {"type": "string", "enum": codes},
    }
    plain["required"] = ["error", "code", "message"]
    return plain


def _schemas(shape: Shape[Any]) -> dict[str, Json]:
    """The schema of a shape, and of those it is made of."""
    found = {shape.name: shape.schema()}
    for part in shape.parts:
        for inner in part.shapes:
            found |= _schemas(inner)
    return found


def _outside() -> dict[str, Json]:
    ready = {"type": "object", "additionalProperties": {"type": ["string", "boolean"]}}
    return {
        "/healthz": _plain("health", "The process answers.", {"200": ("It does.", {"type": "object"})}),
        "/readyz": _plain(
            "health",
            "Whether store, keys and schema are well.",
            {"200": ("They are.", ready), "503": ("One is not, and says why.", ready)},
        ),
    }


def _plain(tag: str, sentence: str, answers: dict[str, tuple[str, Json]]) -> Json:
    return {
        "get": {
            "tags": [tag],
            "summary": sentence,
            "security": [],
            "responses": {
                status: {"description": words, "content": {JSON: {"schema": schema}}}
                for status, (words, schema) in answers.items()
            },
        }
    }
