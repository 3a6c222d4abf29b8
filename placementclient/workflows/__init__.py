"""Sequences of requests beside the reshape: purge, healing, sync, repairs, bulk edits, inquiries."""
