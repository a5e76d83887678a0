"""Network arbitration: which waiting packet crosses to an output next. A file's name is the policy's name."""
