//! Files as other programs of the format write them, and what they find in ours.
