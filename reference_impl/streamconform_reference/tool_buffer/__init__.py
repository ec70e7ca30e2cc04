"""Tool calls assembled from fragments of any provider."""
