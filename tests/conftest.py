"""What all tests share."""

import signal

# A shell starts what it runs in the background with Ctrl-C ignored, and whoever that starts ignores it too. Tests of Ctrl-C must
# not depend on how they were started.
signal.signal(signal.SIGINT, signal.default_int_handler)
