"""A trained model as an ONNX graph and a few arrays: parses without torch."""
