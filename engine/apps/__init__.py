"""The applications: commands of `keima` such as match, bench and solve, built on the library packages."""
