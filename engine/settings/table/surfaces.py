"""Names of the surfaces that are not commands; a command's name is its words, such as "train run"."""

GTP = "kata-set-param"
JSON = "overrideSettings"
FORM = "page"
SEARCH = "--set"
"""`--set` of the commands that search, and the [search] table of --config."""
