"""`handful serve`: bots kept in a store, parsed, changed and looked at over HTTP."""
