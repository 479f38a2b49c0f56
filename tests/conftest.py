"""What the suite shows at its end: tables that tests have recorded as `shown`."""


def pytest_terminal_summary(terminalreporter) -> None:
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in getattr(report, "user_properties", ()):
            if name == "shown":
                title, _, table = text.partition("\n")
                terminalreporter.section(title)
                terminalreporter.write_line(table)
