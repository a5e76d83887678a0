"""How near a machine comes to a real GPU: kernels measured there, timed here, and put side by side."""
