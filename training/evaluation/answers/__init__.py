"""What models write: who is compared, what they are asked, and their answers."""
