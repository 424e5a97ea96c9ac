"""Reports are pure: profiles in, rows and words out."""
