// Empty: NVRTC knows assert by itself.
