"""CTA dispatch: which core takes the next CTA. A file's name is the policy's name."""
