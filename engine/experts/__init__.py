"""Streamed experts: slots (memory), policy (eviction), reader (threads), cache (joins them)."""
