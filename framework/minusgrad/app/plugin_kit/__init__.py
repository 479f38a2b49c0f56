"""Plugin kit: checks of scenes, energies and plugins in a child process, the exam, and a new distribution."""
