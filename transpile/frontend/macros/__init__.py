"""The macro engine: context, templates, user patterns, and lifting of statements."""
