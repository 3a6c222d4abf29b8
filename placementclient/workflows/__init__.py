"""Sequences of requests beside the reshape: purge, edits of many, repairs, inquiries."""
