"""The roofs of a GPU as PyTorch reaches them: a copy in its memory, float32 and TF32 products."""

import statistics

import torch


def seconds(work, repeat=10):
    times = []
    for _ in range(repeat + 3):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1000)
    return statistics.median(times[3:])


def main():
    print("device,", torch.cuda.get_device_name())
    a = torch.empty(2**30, dtype=torch.uint8, device="cuda")
    b = torch.empty_like(a)
    print(f"copy, {2 * a.numel() / seconds(lambda: b.copy_(a)) / 1e9:.4g} GB/s read and written")
    n = 8192
    x, y = (torch.randn(n, n, device="cuda") for _ in range(2))
    for name, allowed in (("float32", False), ("TF32", True)):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        print(f"{name} product, {2 * n**3 / seconds(lambda: x @ y) / 1e12:.4g} TFLOP/s")


if __name__ == "__main__":
    main()
