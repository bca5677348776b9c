"""Embedders: the default model on onnxruntime, an OpenAI-compatible endpoint, a factory of the host's own; and how the
default model gets here. `choose.open_embedder` picks one; nothing is imported before it is used."""
