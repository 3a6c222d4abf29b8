"""Commands about provider trees."""
