"""Tests of the table of settings and of what is made from it."""
