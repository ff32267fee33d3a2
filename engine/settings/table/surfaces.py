"""The names of places that show settings and are not commands; a command is named by its words, as "train run"."""

GTP = "kata-set-param"
JSON = "overrideSettings"
FORM = "page"
SEARCH = "--set"
"""`--set` of the commands that search, and the [search] table of their TOML file."""
