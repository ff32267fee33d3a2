"""`keima draw`: draws positions as SVG. `svg` also draws the web page's board."""
