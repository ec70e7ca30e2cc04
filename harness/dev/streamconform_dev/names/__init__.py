"""Every name in the types of the providers' SDKs is in a case, or has a reason why not."""
