"""The mathematics between encodings and labels, in numpy: prototypes and decoding."""
