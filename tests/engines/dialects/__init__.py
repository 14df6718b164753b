"""Small Tensor classes in the styles that are found in the wild, sound ones and ones with a planted disease."""
