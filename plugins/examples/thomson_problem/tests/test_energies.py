"""The exam of every energy, map and constraint of the plugin."""

from minusgrad.testing import exam

test_exam = exam("thomson_problem")
