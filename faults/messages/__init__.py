"""Records of a broker that their consumers cannot read."""
