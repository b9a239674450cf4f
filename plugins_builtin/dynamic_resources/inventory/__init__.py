"""Devices that slices offer, which of them are in use, and the state of each node that follows from both."""
