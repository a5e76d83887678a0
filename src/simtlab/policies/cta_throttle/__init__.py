"""CTA throttling: how many CTAs of a core may run. A file's name is the policy's name."""
