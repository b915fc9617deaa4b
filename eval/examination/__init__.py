"""What a world that was repaired is compared with and put to."""
