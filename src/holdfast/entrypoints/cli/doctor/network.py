"""The port, the secret that signs tokens, and the server that HOLDFAST_URL names."""

from __future__ import annotations

import os
import socket
import stat
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from holdfast.crypto.keyfile import key_file_of
from holdfast.domain.errors import InvalidField
from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok, warn

PATIENCE_SECONDS = 5.0
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
NEW_TOKEN = "create one where the server runs: holdfast token create --subject YOU; then set HOLDFAST_TOKEN"


def port(scene: Scene) -> Finding:
    host, number = scene.settings.host, scene.settings.port
    host = EVERYWHERE.get(host, host)
    try:
        socket.create_connection((host, number), timeout=1).close()
    except ConnectionRefusedError:
        return ok(f"{host}:{number} is free for `holdfast serve`")
    except OSError as error:
        return warn(
            f"{host}:{number} cannot be reached: {error}", "set HOLDFAST_HOST to an address of this machine"
        )
    shown = f"[{host}]" if ":" in host else host
    status, _ = _answer(f"http://{shown}:{number}/healthz")
    if status == 200:
        return ok(f"a server answers at {host}:{number}")
    return warn(f"another program listens at {host}:{number}", "holdfast serve --port 7078")


def secret(scene: Scene) -> Finding:
    from importlib.util import find_spec

    if find_spec("jwt") is None:
        return ok("no server here: the server extra is not installed")
    from holdfast.entrypoints.http.tokens import SECRET_FILE, local_secret

    path = scene.settings.data_dir / SECRET_FILE
    if scene.settings.jwt_secret is None and not path.exists():
        return ok("created when the server first starts")
    remedy = (
        "set another HOLDFAST_JWT_SECRET: openssl rand -hex 32" if scene.settings.jwt_secret else f"rm {path}"
    )
    try:
        found = local_secret(scene.settings)
    except InvalidField as error:
        return fail(error.message, remedy)
    key_file = None if scene.database is None else key_file_of(scene.database)
    if key_file and key_file.exists() and found.key.strip().lower() == key_file.read_bytes().strip().lower():
        return fail(
            "the token secret is the memory key: anyone who verifies tokens could read memories", remedy
        )
    if scene.settings.jwt_secret is not None:
        return ok("from HOLDFAST_JWT_SECRET")
    if os.name == "posix" and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        return warn(f"{path} is open to others ({mode:04o})", f"chmod 600 {path}")
    return ok(str(path))


def server(scene: Scene) -> Finding:
    url = (scene.settings.url or "").rstrip("/")
    status, body = _answer(f"{url}/readyz")
    match status:
        case None:
            return fail(
                f"{url} does not answer: {body}", "start it with `holdfast serve`, or correct HOLDFAST_URL"
            )
        case 200:
            return ok(f"{url} is ready")
        case 503:
            return fail(f"{url} is not ready: {body}", "run `holdfast doctor` where the server runs")
    return fail(f"{url} answers {status}, so it is no Holdfast server", "correct HOLDFAST_URL")


def token(scene: Scene) -> Finding:
    if not scene.settings.token:
        return warn("HOLDFAST_TOKEN is not set", NEW_TOKEN)
    url = (scene.settings.url or "").rstrip("/")
    status, body = _answer(f"{url}/api/v1/spaces", scene.settings.token)
    match status:
        case None:
            return warn(f"not tried: {body}", "see `server`")
        case 200:
            return ok("the server accepts it")
        case 401:
            return fail("the server rejects HOLDFAST_TOKEN", NEW_TOKEN)
    return fail(f"the server answers {status}: {body}", "run `holdfast doctor` where the server runs")


class _NoRedirect(HTTPRedirectHandler):
    """Sends a token to no other server."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _answer(url: str, token: str | None = None) -> tuple[int | None, str]:
    """Returns the status and the start of the body; None when nobody answered."""
    try:
        request = Request(url, headers={} if token is None else {"Authorization": f"Bearer {token}"})
        with build_opener(_NoRedirect).open(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read(200).decode(errors="replace")
    except HTTPError as error:
        with error:
            return error.code, error.read(200).decode(errors="replace")
    except URLError as error:
        return None, str(error.reason)
    except (OSError, ValueError, HTTPException) as error:
        return None, str(error) or type(error).__name__
