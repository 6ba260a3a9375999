"""Write a model as a graph of ONNX, as a query of SQL, or as a page about the model."""
