"""The kind `derived`: a table that is built from its query once, and from then on kept by actions.

    config    the keys of a derived table
    kind      built where there is none; else left to the actions that write it

Its state says which versions of its sources it was built from: an action leaves out the firings
that it holds already (rules, section 7).
"""
