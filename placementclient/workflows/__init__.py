"""Sequences of requests beside the reshape: purge, bulk edits, repairs, inquiries."""
