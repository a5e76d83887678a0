"""When it happens: cores, caches, network and DRAM of a configured GPU, and the clock that drives them."""
