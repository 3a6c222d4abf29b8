"""Requests beside the reshape: purge, healing, sync, repairs, edits of many, inquiries."""
