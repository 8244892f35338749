"""From a module to a program, and from a program to its parts."""
