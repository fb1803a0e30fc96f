"""The language of templates: parsing, macros, what they mean, regular expressions."""
