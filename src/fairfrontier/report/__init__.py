"""What a report says (``record``, plain numbers and text) and how it looks (``page``, one HTML file)."""
