"""The exam of every energy of the plugin: values, derivatives, symmetries, both precisions and engines."""

from minusgrad.testing import exam

test_exam = exam("my_plugin")
