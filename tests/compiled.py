"""Compile the timed machine and the functional one, which nearly all tests need: python -m tests.compiled."""

import simtlab as sl

COUNT = 'extern "C" __global__ void count(int *out) { atomicAdd(out + threadIdx.x % 2, 1); }'


def main() -> None:
    for options in ({"machine": "caps-gtx480"}, {"threads": 1}, {"threads": 2}):
        device = sl.Gpu(**options)
        out = device.zeros(2, "i4")
        device.compile(COUNT)["count"](4, 64, [out])
        assert out.numpy().tolist() == [128, 128]


if __name__ == "__main__":
    main()
