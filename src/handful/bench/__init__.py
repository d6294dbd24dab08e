"""The paper's tables: rows, runs, engines that train them here or on a cluster, and comparisons."""
