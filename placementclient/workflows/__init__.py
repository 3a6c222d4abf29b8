"""Requests beside the reshape: purge, healing, sync, repairs, bulk edits, inquiries."""
