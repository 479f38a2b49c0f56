"""The exam of energies: small random states, references that share no code with the engine, questions.

Enters: an energy. Leaves: findings. May import: `errors`, `engine`, `scene`, `symbolic`,
`elements`, `energies`, `potential`, `check`.
"""
