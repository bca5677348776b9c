"""The only way to onnxruntime. Its official builds report to their makers from 1.29 on, and keep a device id, unless
they are told not to before they load; the call is for builds that do not read the variable."""

from __future__ import annotations

from typing import Any

from holdfast.settings import refuse_telemetry


def onnxruntime() -> Any:
    """The module. Raises ImportError where the extra `embedder` is not installed."""
    refuse_telemetry()
    import onnxruntime as module

    module.disable_telemetry_events()
    return module
