"""What MLX generates around a body, read from MLX itself."""

import mlx.core as mx

from tests.shaders.generated import Buffer, generate


def test_small_inputs_are_constant_scalars_references_and_shapes_follow_by_name() -> None:
    body = "uint i = thread_position_in_grid.x; y[i] = T(a[i] + b[i] * b_shape[1] + c);"
    kernel = mx.fast.metal_kernel(
        name="signature", input_names=["a", "b", "c"], output_names=["y"], source=body
    )
    generated = generate(
        kernel,
        [mx.zeros((7,)), mx.zeros((2, 4), mx.bfloat16), mx.array(1)],
        {
            "template": [("T", mx.float16), ("N", 3), ("FLAG", True)],
            "output_shapes": [(64,)],
            "output_dtypes": [mx.float16],
            "grid": (64, 2, 1),
            "threadgroup": (32, 1, 1),
        },
    )
    assert generated.buffers == (
        Buffer("float", "*", "a", "const constant"),
        Buffer("bfloat16_t", "*", "b", "const device"),
        Buffer("int", "*", "b_shape", "const constant"),
        Buffer("int32_t", "&", "c", "const constant"),
        Buffer("float16_t", "*", "y", "device"),
    )
    assert generated.sections == ((False,) * 3, (True, False, False), (False,) * 3)
    assert generated.attributes == ("thread_position_in_grid",)
    assert generated.call == f"{generated.name}<float16_t, 3, 1>"
    assert (generated.grid, generated.threadgroup) == ((64, 2, 1), (32, 1, 1))
    assert body in generated.source
    assert "host_name" not in generated.source
