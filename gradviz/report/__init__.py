"""How people see a trace: text, HTML, figures, and files for other viewers."""
