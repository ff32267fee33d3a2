#!/bin/sh
cd "$(dirname "$0")" && exec ./keima web "$@"
