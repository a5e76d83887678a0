"""A GPU's machine code: from the compiler's cubin to instructions with parsed operands."""
