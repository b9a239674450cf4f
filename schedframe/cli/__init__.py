"""The command line; needs the extra ``cli``. Only :mod:`.main` can be imported without it."""
