"""What is read of the trials' files for a report: histograms of cells, series of trials."""
