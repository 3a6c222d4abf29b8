"""Commands about the program itself: batches and completion."""
