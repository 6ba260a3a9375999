"""Take a model out: as a graph of ONNX, as a query of SQL, as a page about itself."""
