"""The equivalence cache: filter results and scores shared by pods with equal signatures."""
