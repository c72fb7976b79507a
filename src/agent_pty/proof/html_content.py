"""What the page of a proof shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_pty.ops.proof_model import Bundle
from agent_pty.proof.player_cast import PlayerCast
from agent_pty.proof.timeline import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlProof:
    """What the page shows; *markers* are the player's markers of cells by their ids."""

    bundle: Bundle
    moments: Sequence[Moment]
    markers: Mapping[str, int]
    cast: PlayerCast
