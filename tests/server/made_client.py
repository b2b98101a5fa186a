"""A client that is made from an OpenAPI document alone, as generators make them: a method for each operation, and answers held to their schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
from jsonschema import Draft202012Validator

METHODS = ("get", "put", "post", "delete", "patch")


class MadeClient:
    """Calls operations by their ids. `called` are those that were answered well."""

    def __init__(self, document: dict[str, Any], http: httpx.Client) -> None:
        self._document = document
        self._http = http
        self.operations = {one["operationId"]: (method, path, one) for method, path, one in _operations(document)}
        self.called: set[str] = set()

    def call(self, operation: str, body: object = None, **given: Any) -> Any:
        """Call an operation; parameters go where the document says that they belong.

        The answer is the parsed body. It must have a documented status below 400, its content type, and fit its schema.
        """
        method, path, described = self.operations[operation]
        params: dict[str, Any] = {}
        headers: dict[str, str] = {}
        for one in described.get("parameters", ()):
            name = one["name"].replace("-", "_").lower()
            if name not in given:
                assert not one.get("required"), f"{operation} needs {name}"
                continue
            value = given.pop(name)
            self._check(one["schema"], value)
            if one["in"] == "path":
                path = path.replace("{" + one["name"] + "}", quote(str(value), safe=""))
            elif one["in"] == "query":
                params[one["name"]] = value
            else:
                headers[one["name"]] = value
        assert not given, f"{operation} takes no {', '.join(given)}"
        sent = self._request_body(operation, described, body, headers)
        answer = self._http.request(method, path, params=params, headers=headers, content=sent)
        assert answer.status_code < 400, (operation, answer.status_code, answer.text)
        found = self._answer(operation, described, answer)
        self.called.add(operation)
        return found

    def _request_body(
        self, operation: str, described: dict[str, Any], body: object, headers: dict[str, str]
    ) -> bytes | None:
        content = described.get("requestBody", {}).get("content", {})
        if body is None:
            assert not described.get("requestBody", {}).get("required"), f"{operation} needs a body"
            return None
        (kind,) = content
        headers["Content-Type"] = kind
        if kind == "application/json":
            self._check(content[kind]["schema"], body)
            return json.dumps(body).encode()
        assert isinstance(body, bytes)
        return body

    def _answer(self, operation: str, described: dict[str, Any], answer: httpx.Response) -> Any:
        responses = described["responses"]
        assert str(answer.status_code) in responses, f"{operation}: {answer.status_code} is not documented"
        content = responses[str(answer.status_code)]["content"]
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in content, f"{operation}: {kind} is not documented"
        if kind != "application/json":
            return answer.content
        self._check(content[kind]["schema"], answer.json())
        return answer.json()

    def _check(self, schema: dict[str, Any], value: object) -> None:
        Draft202012Validator({**schema, "components": self._document["components"]}).validate(value)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield method, path, methods[method]
