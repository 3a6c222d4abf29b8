"""Changes, their plans and their journals as files have them. Pure."""
