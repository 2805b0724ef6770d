"""Run a model of TFLite: pass a path, or let a small one be written, and see what becomes of it."""

import sys

import flatbuffers
import numpy as np
import tflite

import relay


def softmax_model():
    """The file of a model of one operator, `y = softmax(2 x)`, for any number of rows."""
    builder = flatbuffers.Builder(256)

    def vector(values, size, prepend):
        builder.StartVector(size, len(values), size)
        for one in reversed(values):
            prepend(one)
        return builder.EndVector()

    def numbers(*values):
        return vector(values, 4, builder.PrependInt32)

    def tables(*values):
        return vector(values, 4, builder.PrependUOffsetTRelative)

    def tensor(name):
        text, shape, signature = builder.CreateString(name), numbers(1, 3), numbers(-1, 3)
        tflite.TensorStart(builder)
        tflite.TensorAddName(builder, text)
        tflite.TensorAddShape(builder, shape)
        tflite.TensorAddShapeSignature(builder, signature)
        return tflite.TensorEnd(builder)

    tflite.SoftmaxOptionsStart(builder)
    tflite.SoftmaxOptionsAddBeta(builder, 2.0)
    options = tflite.SoftmaxOptionsEnd(builder)
    given, result = numbers(0), numbers(1)
    tflite.OperatorStart(builder)
    tflite.OperatorAddInputs(builder, given)
    tflite.OperatorAddOutputs(builder, result)
    tflite.OperatorAddBuiltinOptionsType(builder, tflite.BuiltinOptions.SoftmaxOptions)
    tflite.OperatorAddBuiltinOptions(builder, options)
    operators = tables(tflite.OperatorEnd(builder))
    tensors = tables(tensor("x"), tensor("y"))
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, given)
    tflite.SubGraphAddOutputs(builder, result)
    tflite.SubGraphAddOperators(builder, operators)
    graphs = tables(tflite.SubGraphEnd(builder))
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddBuiltinCode(builder, tflite.BuiltinOperator.SOFTMAX)
    codes = tables(tflite.OperatorCodeEnd(builder))
    tflite.BufferStart(builder)
    buffers = tables(tflite.BufferEnd(builder))
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


model = sys.argv[1] if len(sys.argv) > 1 else softmax_model()
mod, params = relay.frontend.from_tflite(model)
print(mod)
exe = relay.compile(mod, params)
print(exe)
if len(sys.argv) == 1:
    x = np.array([[1, 2, 3], [0, 0, 0]], "float32")
    print(exe(x))
    wanted = np.exp(2 * x) / np.exp(2 * x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(exe(x), wanted, rtol=1e-5)
