"""DXF: ezdxf reads the file in a child process, and the curves of its entities become outlines in metres."""
