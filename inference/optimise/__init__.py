"""Learning without a language: minimise a function of arrays, with a certificate."""
