cd /tmp/wt/export && nice .venv/bin/python /work/shared/contract/check.py onnx
