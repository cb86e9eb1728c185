"""Plans: how a question would be answered, and what it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .answer import Answer
from .table import AnswerTable

if TYPE_CHECKING:
    from dpc.inference.planning.plan import Plan

    from ..gradient.choose import EstimatorChoice


class EliminationPlan(Answer):
    """The order in which finite variables are summed out, its operations and its bytes."""

    def __init__(self, plan: Plan):
        self.plan = plan

    def tables(self) -> list[AnswerTable]:
        return []

    def before(self) -> list[str]:
        return str(self.plan).split("\n")

    def to_dict(self) -> dict[str, Any]:
        clique, entries = self.plan.largest_clique
        return {
            "order": list(self.plan.names),
            "heuristic": self.plan.method,
            "operations": self.plan.operations,
            "bytes": self.plan.bytes,
            "largest_clique": {"variables": list(clique), "entries": entries},
        }


class EstimatorPlan(Answer):
    """The estimator of each draw of the objective, and why."""

    def __init__(self, choices: list[EstimatorChoice]):
        self.choices = choices

    def before(self) -> list[str]:
        exact = "the objective has no random part: its gradient is exact"
        return [] if self.choices else [exact]

    def tables(self) -> list[AnswerTable]:
        rows = [(c.name, str(c), c.points, c.reason) for c in self.choices]
        return [AnswerTable(("draw", "estimator", "points", "why"), rows)] if rows else []

    def to_dict(self) -> dict[str, Any]:
        rows = [
            {
                "draw": choice.name,
                "method": choice.method,
                "options": dict(choice.options),
                "reason": choice.reason,
                "points": choice.points,
            }
            for choice in self.choices
        ]
        return {"estimators": rows}
