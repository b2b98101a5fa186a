"""A minimal writer of the ONNX file format, to pass onnxruntime a graph that is built in memory.

Messages of protocol buffers are written field by field; the library `onnx` would do the same, but weighs 20 MB. Field
numbers are those of onnx.proto (ONNX 1.14, IR version 9).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

IR_VERSION: Final = 9
OPSET: Final = 20  # version 20 is the first with the operator Gelu
CONTRIB: Final = "com.microsoft"  # domain of onnxruntime's own operators
_CONTRIB_OPSET: Final = 1
# Wire types of protocol buffers, then values of AttributeProto.type and TensorProto.data_type in onnx.proto.
_VARINT, _LENGTH, _FLOAT32 = 0, 2, 5
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT = 1, 2
_TYPES: Final = {np.dtype(np.float32): 1, np.dtype(np.int8): 3}


def node(kind: str, inputs: Sequence[str], output: Sequence[str], domain: str = "", **attributes: float) -> bytes:
    """One operator of a graph (NodeProto).

    Args:
        kind: The operator's name.
        inputs: Names of its inputs; an empty name leaves an optional input out.
        output: Names of its outputs.
        domain: `CONTRIB` for onnxruntime's own operators.
        attributes: Whole numbers or floats, by name.
    """
    # Fields of NodeProto: input 1, output 2, op_type 4, attribute 5, domain 7.
    fields = [*(_bytes(1, name) for name in inputs), *(_bytes(2, name) for name in output), _bytes(4, kind)]
    fields += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
    return b"".join([*fields, _bytes(7, domain)])


def tensor(name: str, values: npt.NDArray[np.float32] | npt.NDArray[np.int8]) -> bytes:
    """A constant of a graph (TensorProto)."""
    sizes = b"".join(_int(1, size) for size in values.shape)
    # ONNX stores raw tensor data in little-endian order.
    little_endian = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
    # Fields of TensorProto: dims 1, data_type 2, name 8, raw_data 9.
    head = sizes + _int(2, _TYPES[values.dtype]) + _bytes(8, name) + _begun(9, little_endian.nbytes)
    return b"".join([head, little_endian.data])


def model(
    name: str,
    nodes: Iterable[bytes],
    tensors: Iterable[bytes],
    given: tuple[str, Sequence[int | str]],
    wanted: tuple[str, Sequence[int | str]],
) -> bytes:
    """A whole model (ModelProto) as bytes, for `onnxruntime.InferenceSession`.

    Args:
        name: For error messages.
        nodes: In topological order.
        tensors: The constants.
        given: Name and shape of the input, single precision; a size may be a name.
        wanted: The same of the output.
    """
    # Fields of GraphProto: node 1, name 2, initializer 5, input 11, output 12; of ModelProto: ir_version 1, graph 7,
    # opset_import 8.
    graph = [*(_bytes(1, one) for one in nodes), _bytes(2, name)]
    # Not `_bytes`: each copy of the constants costs as much as quantising them.
    graph += [part for one in tensors for part in (_begun(5, len(one)), one)]
    graph += [_bytes(11, _floats(*given)), _bytes(12, _floats(*wanted))]
    opsets = b"".join(
        _bytes(8, _bytes(1, domain) + _int(2, version)) for domain, version in (("", OPSET), (CONTRIB, _CONTRIB_OPSET))
    )
    return b"".join([_int(1, IR_VERSION), opsets, _begun(7, sum(map(len, graph))), *graph])


def _attribute(name: str, value: float) -> bytes:
    # Fields of AttributeProto: name 1, f 2, i 3, type 20.
    if isinstance(value, int):
        return _bytes(1, name) + _int(3, value) + _int(20, _ATTRIBUTE_INT)
    return _bytes(1, name) + _tag(2, _FLOAT32) + struct.pack("<f", value) + _int(20, _ATTRIBUTE_FLOAT)


def _floats(name: str, shape: Sequence[int | str]) -> bytes:
    """Name and type of an input or output of single precision (ValueInfoProto)."""
    sizes = b"".join(_bytes(1, _int(1, size) if isinstance(size, int) else _bytes(2, size)) for size in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _int(1, _TYPES[np.dtype(np.float32)]) + _bytes(2, sizes)))


def _tag(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _int(field: int, value: int) -> bytes:
    """A whole-number field; negative numbers are written in two's complement of 64 bits, as the format requires."""
    return _tag(field, _VARINT) + _varint(value % (1 << 64))


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _begun(field, len(raw)) + raw


def _begun(field: int, length: int) -> bytes:
    """What comes before so many bytes of a field."""
    return _tag(field, _LENGTH) + _varint(length)


def _varint(value: int) -> bytes:
    """A variable-length integer: 7 bits per byte, lowest first, the top bit says that more follow."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
