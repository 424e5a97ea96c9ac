"""The rules of doctor on facts made up, and what they are compared with."""
