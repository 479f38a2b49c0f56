"""Facts about this installation and machine, to paste into a report; and a kernel that is run."""
