"""Write weights as Q8_0: `python requantize.py FROM TO`, in an environment with gguf."""

from __future__ import annotations

import sys

from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants

source, target = sys.argv[1:]
reader = GGUFReader(source)
writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
for name, field in reader.fields.items():
    if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
        continue
    kind, *of = field.types
    writer.add_key_value(name, field.contents(), kind, of[0] if kind is GGUFValueType.ARRAY else None)
for tensor in reader.tensors:
    data = quants.dequantize(tensor.data, tensor.tensor_type)
    if data.ndim > 1:
        kind = GGMLQuantizationType.Q8_0
        writer.add_tensor(tensor.name, quants.quantize(data, kind), raw_dtype=kind)
    else:
        writer.add_tensor(tensor.name, data)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
