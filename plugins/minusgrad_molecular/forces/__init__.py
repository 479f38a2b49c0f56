"""Forces of an OpenMM System: a row for each class, how it is read and which terms it makes."""
