"""Operations that machine code has and PTX has not; where both have one, machine code uses PTX's row."""
