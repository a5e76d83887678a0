// Empty: NVRTC knows on its own what device code uses of this header.
