"""`holdfast token create`: a local access token, signed with the secret of the data directory."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import As, Data, Json, seconds
from holdfast.entrypoints.cli.session import settings_of

app = typer.Typer(help="Access tokens for the server.", no_args_is_help=True)


@app.command()
def create(
    subject: Annotated[str, typer.Option("--subject", help="The caller it names, for example alice.")],
    kind: Annotated[str, typer.Option("--kind", help="user, agent or service.")] = "user",
    owner: Annotated[str | None, typer.Option("--owner", help="The owner of this agent or service.")] = None,
    roles: Annotated[
        list[str] | None, typer.Option("--role", help="`member` unless given; `admin`; may be repeated.")
    ] = None,
    teams: Annotated[list[str] | None, typer.Option("--team", help="A team; may be repeated.")] = None,
    chats: Annotated[list[str] | None, typer.Option("--chat", help="A chat; may be repeated.")] = None,
    user: Annotated[
        str | None,
        typer.Option("--for-user", help="The user an agent or service works for; opens their space."),
    ] = None,
    systems: Annotated[
        list[str] | None,
        typer.Option("--system", metavar="NAME=LEVEL", help="A system, `read` or `manage`; may be repeated."),
    ] = None,
    run: Annotated[str | None, typer.Option("--run", help="The unattended run it is made for.")] = None,
    ttl: Annotated[
        int,
        typer.Option(
            "--ttl", metavar="TIME", help="How long it is valid: 30d, 12h or seconds.", parser=seconds
        ),
    ] = 30 * 86_400,
    as_json: Json = False,
    data: Data = None,
    _acting: As = None,
) -> None:
    """Create a local access token and print it; anyone who has it is that caller."""
    from holdfast.domain.errors import Unavailable

    try:
        from holdfast.entrypoints.http.secret import local_secret
        from holdfast.entrypoints.http.tokens import mint
    except ImportError as error:
        raise Unavailable("Tokens need the server extra: pip install 'holdfast-memory[server]'.") from error
    from holdfast.domain.times import SECOND
    from holdfast.vocabularies.encoding import moment
    from holdfast.wiring import system_clock

    settings, now = settings_of(data), system_clock()
    token = mint(
        local_secret(settings),
        subject=subject,
        ttl_seconds=ttl,
        now=now,
        kind=kind,
        owner=owner,
        roles=roles or ("member",),
        teams=teams or (),
        chats=chats or (),
        session_user=user,
        systems=dict(_system(text) for text in systems or ()),
        run=run,
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
    )
    if as_json:
        ends = moment((now // SECOND + ttl) * SECOND)
        output.emit({"token": token, "subject": subject, "kind": kind, "expires_at": ends})
    else:
        print(token)


def _system(text: str) -> tuple[str, str]:
    name, equals, level = text.rpartition("=")
    return (name, level) if equals else (text, "read")
