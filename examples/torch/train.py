"""A small transformer, trained by DDP or FSDP on any number of ranks to the loss that one rank reaches.

    LD_PRELOAD=/path/to/libnccl.so.2 torchrun --nproc_per_node 4 train.py [ddp|fsdp]

Every rank sees its part of the same batch, so the losses differ only by the order of additions. Ranks share the GPUs that
there are. Ends with 1 if the losses differ by more than one in a thousand.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

STEPS, BATCH, LENGTH, WORDS, WIDTH = 20, 16, 32, 64, 128


def make_model():
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Embedding(WORDS, WIDTH), nn.TransformerEncoder(layer, 2), nn.Linear(WIDTH, WORDS)).cuda()


def train(model, rank, size):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(2)
    losses = []
    for _ in range(STEPS):
        batch = torch.randint(WORDS, (BATCH, LENGTH), generator=generator).cuda()
        mine = batch.chunk(size)[rank]
        loss = nn.functional.cross_entropy(model(mine).flatten(0, 1), mine.roll(1, 1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else "ddp"
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.backends.cuda.matmul.allow_tf32 = False
    alone = train(make_model(), 0, 1)
    dist.init_process_group("nccl")
    if kind == "fsdp":
        from torch.distributed.fsdp import fully_shard

        model = make_model()
        fully_shard(model)
    else:
        model = nn.parallel.DistributedDataParallel(make_model())
    together = train(model, rank, size)
    dist.all_reduce(together, op=dist.ReduceOp.AVG)
    difference = ((together - alone).abs() / alone).max().item()
    if rank == 0:
        print(f"{kind} on {size} ranks: loss {together[0]:.4f} -> {together[-1]:.4f}, off by {difference:.1e} of one rank's")
    dist.destroy_process_group()
    sys.exit(0 if difference < 1e-3 else 1)


if __name__ == "__main__":
    main()
