"""Every collective of torch.distributed, in every type that it takes, checked and timed.

    LD_PRELOAD=/path/to/libnccl.so.2 torchrun --nproc_per_node 4 collectives.py

Ranks share the GPUs that there are. Ends with 1 if anything is wrong.
"""

import os
import sys
import time

import torch
import torch.distributed as dist

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int32, torch.int64]
COUNT = 1000


def data(rank, dtype, count=COUNT):
    """Small integers, so that sums are exact in every type."""
    return ((torch.arange(count, device="cuda") * 3 + rank) % 5).to(dtype)


def all_reduce(rank, size, dtype):
    x = data(rank, dtype)
    dist.all_reduce(x)
    return torch.equal(x, sum(data(r, dtype) for r in range(size)))


def all_reduce_max(rank, size, dtype):
    x = data(rank, dtype)
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    return torch.equal(x, torch.stack([data(r, dtype) for r in range(size)]).amax(0))


def all_reduce_avg(rank, size, dtype):
    if not dtype.is_floating_point:
        return None
    x = data(rank, dtype)
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    expected = sum(data(r, torch.float64) for r in range(size)) / size
    return torch.allclose(x.double(), expected, rtol=1e-2)


def broadcast(rank, size, dtype):
    x = data(rank, dtype)
    dist.broadcast(x, src=size - 1)
    return torch.equal(x, data(size - 1, dtype))


def reduce(rank, size, dtype):
    x = data(rank, dtype)
    dist.reduce(x, dst=0)
    return rank != 0 or torch.equal(x, sum(data(r, dtype) for r in range(size)))


def all_gather(rank, size, dtype):
    parts = [torch.empty(COUNT, dtype=dtype, device="cuda") for _ in range(size)]
    dist.all_gather(parts, data(rank, dtype))
    return all(torch.equal(part, data(r, dtype)) for r, part in enumerate(parts))


def all_gather_into_tensor(rank, size, dtype):
    whole = torch.empty(COUNT * size, dtype=dtype, device="cuda")
    dist.all_gather_into_tensor(whole, data(rank, dtype))
    return torch.equal(whole, torch.cat([data(r, dtype) for r in range(size)]))


def reduce_scatter_tensor(rank, size, dtype):
    mine = torch.empty(COUNT, dtype=dtype, device="cuda")
    dist.reduce_scatter_tensor(mine, data(rank, dtype, COUNT * size))
    expected = sum(data(r, dtype, COUNT * size) for r in range(size))
    return torch.equal(mine, expected[rank * COUNT : (rank + 1) * COUNT])


def all_to_all_single(rank, size, dtype):
    out = torch.empty(COUNT * size, dtype=dtype, device="cuda")
    dist.all_to_all_single(out, data(rank, dtype, COUNT * size))
    expected = [data(r, dtype, COUNT * size)[rank * COUNT : (rank + 1) * COUNT] for r in range(size)]
    return torch.equal(out, torch.cat(expected))


def gather(rank, size, dtype):
    parts = [torch.empty(COUNT, dtype=dtype, device="cuda") for _ in range(size)] if rank == 0 else None
    dist.gather(data(rank, dtype), parts, dst=0)
    return rank != 0 or all(torch.equal(part, data(r, dtype)) for r, part in enumerate(parts))


def scatter(rank, size, dtype):
    mine = torch.empty(COUNT, dtype=dtype, device="cuda")
    dist.scatter(mine, [data(r, dtype) for r in range(size)] if rank == 0 else None, src=0)
    return torch.equal(mine, data(rank, dtype))


def send_recv(rank, size, dtype):
    got = torch.empty(COUNT, dtype=dtype, device="cuda")
    ops = [
        dist.P2POp(dist.isend, data(rank, dtype), (rank + 1) % size),
        dist.P2POp(dist.irecv, got, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return torch.equal(got, data((rank - 1) % size, dtype))


def pipeline(rank, size, dtype):
    x = data(0, dtype) if rank == 0 else torch.empty(COUNT, dtype=dtype, device="cuda")
    if rank > 0:
        dist.recv(x, rank - 1)
    if rank + 1 < size:
        dist.send(x, rank + 1)
    return torch.equal(x, data(0, dtype))


def new_group(rank, size, dtype):
    half = list(range(0, size, 2))
    group = dist.new_group(half)
    if rank not in half:
        return True
    x = data(rank, dtype)
    dist.all_reduce(x, group=group)
    return torch.equal(x, sum(data(r, dtype) for r in half))


def graph(rank, size, dtype):
    x = data(rank, dtype)
    captured = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        dist.all_reduce(x.clone())
    torch.cuda.current_stream().wait_stream(side)
    y = x.clone()
    with torch.cuda.graph(captured):
        z = y + 0
        dist.all_reduce(z)
    for _ in range(10):
        captured.replay()
    torch.cuda.synchronize()
    return torch.equal(z, sum(data(r, dtype) for r in range(size)))


CHECKS = [
    all_reduce, all_reduce_max, all_reduce_avg, broadcast, reduce, all_gather, all_gather_into_tensor,
    reduce_scatter_tensor, all_to_all_single, gather, scatter, send_recv, pipeline,
]  # fmt: skip
ONE_TYPE_CHECKS = [new_group, graph]


def everywhere(good):
    """Whether all ranks say so, without the library under test."""
    votes = [None] * dist.get_world_size()
    dist.all_gather_object(votes, good, group=everywhere.group)
    return all(votes)


def run(check, dtype, rank, size):
    try:
        good = check(rank, size, dtype)
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001: one line of the table
        print(f"rank {rank}: {check.__name__} of {dtype}: {error}", file=sys.stderr)
        good = False
    return None if good is None else everywhere(good)


def time_all_reduce(count, repeats=100):
    x = torch.zeros(count, device="cuda")
    for _ in range(10):
        dist.all_reduce(x)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(repeats):
        dist.all_reduce(x)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / repeats * 1e6


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group("nccl")
    everywhere.group = dist.new_group(backend="gloo")
    bad = 0
    for check in CHECKS + ONE_TYPE_CHECKS:
        types = TYPES if check in CHECKS else [torch.float32]
        results = {dtype: run(check, dtype, rank, size) for dtype in types}
        bad += sum(1 for result in results.values() if result is False)
        if rank == 0:
            words = [("ok" if result else "WRONG") for result in results.values() if result is not None]
            wrong = [str(dtype) for dtype, result in results.items() if result is False]
            print(f"{check.__name__:24} {words.count('ok')} of {len(words)} types {' '.join(wrong)}", flush=True)
    for count in (2, 1 << 18, 1 << 22):
        micros = time_all_reduce(count)
        if rank == 0:
            print(f"all_reduce of {count * 4:>10} bytes: {micros:9.1f} us", flush=True)
    dist.destroy_process_group()
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
