"""The OpenAPI 3.1 document, made from the routes table: every route, field, answer, status and error body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from holdfast.domain.errors import HoldfastError, family
from holdfast.entrypoints.http.claims import Reason
from holdfast.entrypoints.http.routes import BASE, ROUTES, Route
from holdfast.entrypoints.http.samples import SAMPLES
from holdfast.vocabularies.answers import STORED
from holdfast.vocabularies.encoding import Answer, Json, Part
from holdfast.vocabularies.fields import Field, Kind, object_schema

JSON = "application/json"
ALWAYS = (400, 401, 403, 404, 405, 409, 413, 423, 429, 500, 503)
WITH_BODY = (415,)
OUTSIDE = (400, 403, 405)
WRITING = (412, 507)
_ENTRY, _EDITED = "Entry", "Edited"
_BODY_ID, _PATH_ID = "$response.body#/id", "$request.path.id"
_GRANT = {"space": "$request.path.space", "grantee": "$request.path.grantee"}

LINKS: dict[str, tuple[tuple[str, Json], ...]] = {
    "post_remember": (
        ("get_entries_id", {"id": _BODY_ID}),
        ("patch_entries_id", {"id": _BODY_ID}),
        ("get_entries_id_history", {"id": _BODY_ID}),
        ("post_entries_id_undo", {"id": _BODY_ID}),
        ("delete_entries_id", {"id": _BODY_ID}),
    ),
    "patch_entries_id": (
        ("post_entries_id_undo", {"id": _PATH_ID}),
        ("get_entries_id_history", {"id": _PATH_ID}),
    ),
    "delete_entries_id": (("post_entries_id_restore", {"id": _PATH_ID}),),
    "post_entries_id_restore": (("get_entries_id", {"id": _PATH_ID}),),
    "post_spaces": (
        ("get_spaces_space_grants", {"space": _BODY_ID}),
        ("put_spaces_space_grants_grantee", {"space": _BODY_ID, "grantee": "agent:reviewer"}),
    ),
    "put_spaces_space_grants_grantee": (
        ("get_spaces_space_grants", {"space": "$request.path.space"}),
        ("delete_spaces_space_grants_grantee", _GRANT),
    ),
    "post_memory_store": (
        ("get_memory_fact", {"key": "$response.body#/key"}),
        ("get_memory_history", {"key": "$response.body#/key"}),
    ),
}
"""Operations that an answer leads to, and where their parameters are found."""


@cache
def document(version: str) -> Json:
    paths: dict[str, Json] = {}
    schemas: dict[str, Json] = {}
    for route in ROUTES:
        paths.setdefault(f"{BASE}/{route.path}", {})[route.method.lower()] = _operation(route)
        for call in filter(None, (route.call, route.purge)):
            if not call.answer.is_text:
                schemas |= _schemas(call.answer)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": version,
            "summary": "Memory for AI agents: encrypted, versioned, access-checked",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in (*dict.fromkeys(route.tag for route in ROUTES), "health")],
        "paths": paths | _outside(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": schemas | {"Error": _error_schema(), "FactsError": _facts_error_schema()},
            "responses": _all_refusals(),
            "headers": {
                "ETag": {"description": "The memory's revision, quoted.", "schema": {"type": "string"}},
                "RetryAfter": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
                "Allow": {"description": "The methods it takes.", "schema": {"type": "string"}},
                "Challenge": {
                    "description": "`Bearer`, and what was wrong.",
                    "schema": {"type": "string"},
                },
            },
        },
    }


def _operation(route: Route) -> Json:
    call = route.call
    operation: Json = {
        "tags": [route.tag],
        "operationId": _operation_id(route),
        "summary": call.sentence.split(". ")[0].rstrip("."),
        "description": call.sentence,
        "parameters": list(_parameters(route)),
        "responses": {"200": _good(route)} | _refusals(route),
    }
    if route.takes_body:
        operation["requestBody"] = _body(route)
    return operation


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
            "Idempotency-Key",
            "The same key again is answered as before; with another request: 409.",
            "^[!-~]([ -~]{0,253}[!-~])?$",
        )
    if route.takes_revision:
        yield _header(
            "If-Match",
            'The one ETag that a change must find, such as "3"; or `*`.',
            r'^("[0-9]{1,18}"|[0-9]{1,18}|\*)$',
        )
    if route.call.answer.name == _ENTRY and not route.call.writes:
        yield _header("If-None-Match", "Answered 304 when the memory is still at this ETag.")


def _parameter(field: Field, place: str, *, required: bool) -> Json:
    schema = {
        name: value for name, value in field.schema().items() if name not in ("description", "examples")
    }
    if place == "path":
        schema = {"minLength": 1} | schema
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


def _header(name: str, sentence: str, pattern: str | None = None) -> Json:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": sentence,
        "schema": {"type": "string"} | ({} if pattern is None else {"pattern": pattern}),
    }


def _body(route: Route) -> Json:
    if not route.whole:
        names = {field.name for field in route.fields}
        rules = _KEY_OR_ID if {"key", "id"} <= names else route.call.rules
        schema = object_schema(route.fields, rules)
    else:
        schema = next(field for field in route.fields if field.name == route.whole).schema()
    examples = {name: field.example for name, field in _example_fields(route) if field.example is not None}
    example = examples.get(route.whole) if route.whole else examples
    return {
        "required": bool(route.whole) or any("required" in one for one in (schema, *_choices(schema))),
        "content": {JSON: {"schema": schema} | ({"example": example} if example else {})},
    }


def _choices(schema: Json) -> list[Json]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


_KEY_OR_ID: Json = {
    "anyOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in ("key", "id")]
}


def _example_fields(route: Route) -> Iterator[tuple[str, Field]]:
    """Fields of an example of a body: one way to call where there are several, and no expected revision."""
    left_out = {"id", "expected_revision", "space", "to_revision", "prefix", "query"}
    for field in route.fields:
        if field.name not in left_out or field.missing is not None:
            yield field.name, field


def _good(route: Route) -> Json:
    answers = [call.answer for call in (route.call, route.purge) if call is not None]
    if answers[0].is_text:
        sample = {answers[0].name: {"value": _sample(answers[0])["text"]}}
        content = {answers[0].media_type: {"schema": {"type": "string"}, "examples": sample}}
        return {"description": "Done.", "content": content}
    refs = [{"$ref": f"#/components/schemas/{answer.name}"} for answer in answers]
    shown: Json = {
        "description": "Done.",
        "content": {
            JSON: {
                "schema": refs[0] if len(refs) == 1 else {"oneOf": refs},
                "examples": {answer.name: {"value": _sample(answer)} for answer in answers},
            }
        },
    }
    if route.call.answer.name in (_ENTRY, _EDITED):
        shown["headers"] = {"ETag": {"$ref": "#/components/headers/ETag"}}
    if links := LINKS.get(_operation_id(route)):
        shown["links"] = {
            operation: {"operationId": operation, "parameters": parameters} for operation, parameters in links
        }
    return shown


def _sample(answer: Answer[Any]) -> Json:
    """An example of an answer, made of one value a name. An outcome is shown as a stored row."""
    if answer.name == "Outcome":
        answer = STORED
    if answer.whole is not None:
        example: Json = answer.whole["examples"][0]
        return example
    return {
        part.name: [_sample(part.of)]
        if part.of and "array" in part.schema.get("type", ())
        else _sample(part.of)
        if part.of
        else _part_sample(answer.name, part)
        for part in answer.parts
        if not part.optional or part.of or (answer.name == "Revision" and part.name in _OF_A_STATE)
    }


def _part_sample(answer: str, part: Part) -> Any:
    """The value the samples have for a part, else any that its schema allows."""
    for name in (f"{answer}.{part.name}", part.name):
        if name in SAMPLES:
            return SAMPLES[name]
    if "enum" in part.schema:
        return part.schema["enum"][0]
    kind = part.schema.get("type")
    return _ANY_OF_TYPE[kind] if isinstance(kind, str) else None


_ANY_OF_TYPE = {"string": "text", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": {}}
_OF_A_STATE = frozenset(
    {"by", "change", "key", "hint", "text", "media_type", "category", "tags", "provenance"}
)
"""Parts of an earlier state that is not locked."""


def _refusals(route: Route) -> Json:
    """Every error of the closed list that the route can come to, by status."""
    statuses = [
        *ALWAYS,
        *(WITH_BODY if route.takes_body else ()),
        *(WRITING if route.call.writes else ()),
    ]
    facts = route.tag == "facts"
    shown: Json = {str(status): _refused(status, facts=facts) for status in sorted(statuses)}
    if route.call.answer.name == _ENTRY and not route.call.writes:
        shown["304"] = {
            "description": "Still at that ETag.",
            "headers": {"ETag": {"$ref": "#/components/headers/ETag"}},
        }
    return shown


def _refused(status: int, *, facts: bool = False) -> Json:
    return {"$ref": f"#/components/responses/{'FactsError' if facts else 'Error'}{status}"}


def _all_refusals() -> Json:
    by_status: dict[int, list[type[HoldfastError]]] = {}
    for error in family().values():
        by_status.setdefault(error.status, []).append(error)
    return {
        f"{name}{status}": _refusal(errors, facts=name == "FactsError")
        for name in ("Error", "FactsError")
        for status, errors in sorted(by_status.items())
    }


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
    if header := _HEADER_OF.get(errors[0].status):
        shown["headers"] = {header[0]: {"$ref": f"#/components/headers/{header[1]}"}}
    return shown


_HEADER_OF = {
    401: ("WWW-Authenticate", "Challenge"),
    405: ("Allow", "Allow"),
    429: ("Retry-After", "RetryAfter"),
    503: ("Retry-After", "RetryAfter"),
}
"""The header that comes with a status."""


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
            "proposal": {"type": "string", "format": "uuid", "description": "What a person may approve."},
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


def _schemas(answer: Answer[Any]) -> dict[str, Json]:
    """The schema of an answer, and of those it refers to."""
    found = {answer.name: answer.schema()}
    for part in answer.parts:
        if part.of is not None:
            found |= _schemas(part.of)
    return found


def _outside() -> dict[str, Json]:
    word = {"type": "string"}
    well = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
    ready = {
        "type": "object",
        "properties": {"ready": {"type": "boolean"}, "store": word, "keys": word, "schema": word},
        "required": ["ready", "store", "keys", "schema"],
        "additionalProperties": False,
    }
    good = {"ready": True, "store": "ok", "keys": "ok", "schema": "ok"}
    bad = good | {
        "ready": False,
        "store": "The memory file is damaged or not a Holdfast store; restore a backup.",
    }
    counted = 'holdfast_requests_total{method="GET",route="entries/{id}",status="200"} 12'
    page = "<!doctype html><html lang=en>…</html>"
    return {
        "/healthz": _plain(
            "healthz", "The process answers.", {"200": ("It does.", JSON, well, {"status": "ok"})}
        ),
        "/readyz": _plain(
            "readyz",
            "Whether store, keys and schema are well.",
            {
                "200": ("They are.", JSON, ready, good),
                "503": ("One is not, and says why.", JSON, ready, bad),
            },
        ),
        "/metrics": _plain(
            "metrics", "Counters for Prometheus.", {"200": ("As text.", "text/plain", word, counted)}
        ),
        "/openapi.json": _plain(
            "openapi",
            "This document.",
            {"200": ("OpenAPI 3.1.", JSON, {"type": "object"}, {"openapi": "3.1.0"})},
        ),
        "/docs": _plain("docs", "Every route, for people.", {"200": ("A page.", "text/html", word, page)}),
        "/": _plain("page", "What runs here, for people.", {"200": ("A page.", "text/html", word, page)}),
    }


def _plain(name: str, sentence: str, answers: dict[str, tuple[str, str, Json, Any]]) -> Json:
    """Outside the API: no token, but the same checks of host, origin and method."""
    return {
        "get": {
            "tags": ["health"],
            "operationId": name,
            "summary": sentence,
            "security": [],
            "responses": {
                status: {"description": words, "content": {kind: {"schema": schema, "example": example}}}
                for status, (words, kind, schema, example) in answers.items()
            }
            | {str(status): _refused(status) for status in OUTSIDE},
        }
    }
