"""Windows, widgets and painting. No logic, no engine, no database."""
