# SPDX-License-Identifier: Apache-2.0
"""A few training steps of a small network: what roofprof is put before on a GPU machine."""
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(2048, 1024, device="cuda")
for _ in range(20):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = (model(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"loss {loss.item():.4f}")
