"""The index of kinds: what each plugin registers, known without importing it."""
