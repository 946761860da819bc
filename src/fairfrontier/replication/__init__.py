"""The published tables and figures, recomputed: each study is resumable and says what it was run with."""
