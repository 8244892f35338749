"""Programs with another graph."""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule


def with_graph(
    program: ExportedProgram,
    module: GraphModule,
    *,
    signature: ExportGraphSignature | None = None,
    constants: dict[str, Any] | None = None,
) -> ExportedProgram:
    """Return a program with the graph of `module`, and with everything else that `program` has.

    `signature` and `constants` replace those of `program`.
    """
    changed = ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=program.graph_signature if signature is None else signature,
        state_dict=program.state_dict,
        range_constraints=program.range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=program.example_inputs,
        constants=program.constants if constants is None else constants,
        verifiers=program.verifiers,
    )
    changed._guards_code = program._guards_code
    return changed
