"""What the README tells a new user to type, on the cluster that its first command makes."""
