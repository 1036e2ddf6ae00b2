"""The commands of `lmm`, a few in each module.

May import everything but the filters, at the top only what is light.
"""
