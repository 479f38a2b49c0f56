"""Published numbers beside ours: the table of `minusgrad validate`.

Enters: rows of plugins, and of what belongs to no plugin. Leaves: a table, JSON. May import: `errors`,
`engine`, `scene`, `files`, `assembly`, `app`, `sweeps`, `scripting`.
"""
