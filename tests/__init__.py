"""The tests. What several of them share lies in modules without the test_ prefix and is imported from here."""
