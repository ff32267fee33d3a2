"""Networks as data, and the frameworks that compute them. Imports nothing by itself."""
