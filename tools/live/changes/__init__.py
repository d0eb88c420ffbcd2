"""Changes from where teams record them: commits, deployments, configuration releases, feature flags."""
