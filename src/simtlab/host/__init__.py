"""The host's view of a GPU: memory, modules, launches."""
