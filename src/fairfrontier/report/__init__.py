"""What a report asks (`findings`), says (`record`, filled by `parts`) and looks like (`html`, `figure`, `text`)."""
