"""Preemption: which CTA makes room for a kernel of higher priority, and how. A file's name is the policy's name."""
