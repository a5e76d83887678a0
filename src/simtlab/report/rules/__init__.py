"""The rules of the advice: each takes the scheduler cycles that it explains out of a ledger, and says why in a sentence."""
