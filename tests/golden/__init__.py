"""Records of what other engines answered, checked kind by kind."""
