"""An audit from a file: what is asked (`request`), which columns are what (`plan`), tests (`run`), output (`write`)."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plan import AuditPlan, make_plan
    from .request import AuditRequest, read_config
    from .run import Audit, run_audit
    from .table import TableFile, read_table
    from .write import write_audit

__all__ = [
    "Audit",
    "AuditPlan",
    "AuditRequest",
    "TableFile",
    "make_plan",
    "read_config",
    "read_table",
    "run_audit",
    "write_audit",
]

_MODULES = {
    "Audit": "run",
    "AuditPlan": "plan",
    "AuditRequest": "request",
    "TableFile": "table",
    "make_plan": "plan",
    "read_config": "request",
    "read_table": "table",
    "run_audit": "run",
    "write_audit": "write",
}
"""The module in which each name is defined; it is imported when the name is first used."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
