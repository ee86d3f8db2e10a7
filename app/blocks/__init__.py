"""What an answer is made of: Markdown cut into blocks, and the typesetting of code and formulas."""
