"""Memory: the plan (ledger), what the machine says (figures, pressure, heat), and the governor.

`plan` computes what a model will take; `pressure` hears how short memory is; `governor` decides,
purely; `keeper` does it to a live model between tokens.
"""
