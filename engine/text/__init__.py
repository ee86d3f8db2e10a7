"""Text in and out: tokenizer, chat template, detokenizer, reasoning split, stop strings."""
