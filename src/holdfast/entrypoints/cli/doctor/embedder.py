"""The embedder's model."""

from __future__ import annotations

from importlib.util import find_spec

from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok, warn

FETCH = "holdfast model fetch"


def model(scene: Scene) -> Finding:
    match scene.settings.embedder:
        case "none":
            return ok("HOLDFAST_EMBEDDER=none: words only")
        case "default":
            return _default(scene)
        case "openai":
            return ok(f"{scene.settings.embedder_model} at {scene.settings.embedder_url}; not asked")
        case name if all(name.partition(":")):
            module = name.partition(":")[0]
            if find_spec(module.partition(".")[0]) is None:
                return fail(
                    f"the module {module} is not here", f"install {module}, or set HOLDFAST_EMBEDDER=default"
                )
            return ok(f"{name}; not loaded")
        case name:
            return fail(
                f"HOLDFAST_EMBEDDER={name} is not known", "set it to default, none, openai or module:factory"
            )


def _default(scene: Scene) -> Finding:
    from holdfast.recall.embedding.models import files_are_whole, installed

    found = installed(scene.settings.model_dir)
    if not found:
        return warn("not fetched: recall goes by words only", FETCH)
    folder, manifest = found[0]
    if not files_are_whole(folder, manifest):
        return fail(f"{manifest.model_id} in {folder} is damaged: recall goes by words only", FETCH)
    if missing := [name for name in ("onnxruntime", "tokenizers") if find_spec(name) is None]:
        return warn(f"{manifest.model_id} is here, but not {missing[0]}", "pip install 'holdfast[embedder]'")
    return ok(f"{manifest.model_id}, whole")
