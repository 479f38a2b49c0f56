"""How an engine's module is imported and reads texts: late, without searches, and silently."""
