"""Commands of the program itself: batches and completion."""
