"""Indexes: answers in, best row out. They know rows and no plugin."""
