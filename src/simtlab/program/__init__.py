"""Programs: decoded instructions with control flow, liveness, registers and frames, ready to execute."""
