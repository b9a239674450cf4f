"""Output of commands: the terminal, tables, JSON and YAML."""
