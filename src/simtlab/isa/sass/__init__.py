"""Operations that machine code has and PTX has not; where both have one, machine code uses PTX's row."""

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")  # whose machine code is executed
