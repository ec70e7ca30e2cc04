"""Known failures: the file, how its entries match results, and how it is updated."""
