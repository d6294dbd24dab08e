"""Episodes as the paper constructs them."""
