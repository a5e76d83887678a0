"""Networks between cores and memory partitions."""
