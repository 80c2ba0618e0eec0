"""Which colour stands for what, in every view; chosen to differ for colour-blind eyes too (after Okabe and Ito)."""

from __future__ import annotations

from gradviz.record.events import Kind, Role

KIND_COLOURS: dict[Kind, str] = {
    Kind.CALL: "#2f7fc1",
    Kind.PULLBACK: "#e69f00",
    Kind.ACCUMULATE: "#c7b42c",
    Kind.COPY: "#d55e00",
    Kind.SYNC: "#a64d8d",
    Kind.KERNEL: "#009e73",
    Kind.SPAN: "#b4bcc6",
    Kind.COMPILE: "#8c6d46",
    Kind.COLLECT: "#6b7280",
}
ROLE_COLOURS: dict[Role, str] = {
    Role.INPUT: "#8fa3b8",
    Role.OUTPUT: "#56b4e9",
    Role.VALUE: "#2f7fc1",
    Role.SAVED: "#009e73",
    Role.COTANGENT: "#e69f00",
    Role.ACCUMULATOR: "#c7b42c",
    Role.COPY: "#d55e00",
    Role.TEMPORARY: "#a64d8d",
}
