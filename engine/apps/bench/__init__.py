"""`keima bench`: measures Keima's speed on this machine, optionally next to KataGo's."""
