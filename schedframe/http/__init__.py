"""HTTP/1.1 for clients: one parser of answers, one form of addresses and proxies, connections that are kept.

``parser`` says what an answer is, and bounds it; ``address`` where a URL leads and how a request begins;
``proxies`` which proxy is on the way; ``kept`` which connections wait for another request. Two drivers move
the bytes: ``loop`` and ``protocols`` in an event loop, for a cluster, and ``blocking`` for extenders, whose
waiting is the scheduler's. Needs httptools, which the users of it ask for.
"""
