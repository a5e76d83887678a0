"""What an instruction computes: 32 lanes at once, as native code."""
