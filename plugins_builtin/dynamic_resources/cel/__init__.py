"""CEL expressions over devices: the environment of the selectors of device classes and claims."""
