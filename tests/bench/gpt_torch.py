# The GPT of samples/gpt.ssp in PyTorch, for compare.sh: prints the tokens per second of the later half of its steps.
import math
import sys
import time

import torch
import torch.nn.functional as F

steps, threads = int(sys.argv[1]), int(sys.argv[2])
layers, batch, seq, vocab, hidden, heads = 4, 8, 256, 256, 256, 8
torch.set_num_threads(threads)
torch.manual_seed(0)


def normal(*shape, std=0.02):
    return torch.nn.Parameter(torch.randn(*shape) * std)


def zeros(*shape):
    return torch.nn.Parameter(torch.zeros(*shape))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        deep = 0.02 / math.sqrt(2 * layers)
        self.ln1, self.ln2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.wqkv, self.bqkv = normal(3 * hidden, hidden), zeros(3 * hidden)
        self.wo, self.bo = normal(hidden, hidden, std=deep), zeros(hidden)
        self.w1, self.b1 = normal(4 * hidden, hidden), zeros(4 * hidden)
        self.w2, self.b2 = normal(hidden, 4 * hidden, std=deep), zeros(hidden)

    def forward(self, x, mask):
        n = self.ln1(x)
        q, k, v = (t.view(batch, seq, heads, -1).transpose(1, 2)
                   for t in F.linear(n, self.wqkv, self.bqkv).chunk(3, -1))
        s = q @ k.transpose(-1, -2) / math.sqrt(hidden // heads)
        o = s.masked_fill(mask, -math.inf).softmax(-1) @ v
        x = x + F.linear(o.transpose(1, 2).reshape(batch, seq, hidden), self.wo, self.bo)
        h = F.gelu(F.linear(self.ln2(x), self.w1, self.b1), approximate="tanh")
        return x + F.linear(h, self.w2, self.b2)


class Gpt(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = normal(vocab, hidden), normal(seq, hidden)
        self.layer = torch.nn.ModuleList(Layer() for _ in range(layers))
        self.ln = torch.nn.LayerNorm(hidden)
        self.lm_head = normal(vocab, hidden)

    def forward(self, tokens, labels, mask):
        x = F.embedding(tokens, self.wte) + self.wpe
        for layer in self.layer:
            x = layer(x, mask)
        return F.cross_entropy(F.linear(self.ln(x), self.lm_head).view(-1, vocab), labels.view(-1))


model = Gpt()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
mask = torch.ones(seq, seq, dtype=torch.bool).triu(1)
times = []
for _ in range(steps):
    data = torch.randint(0, vocab, (batch, seq + 1))
    begin = time.perf_counter()
    optimizer.zero_grad()
    model(data[:, :-1], data[:, 1:].contiguous(), mask).backward()
    optimizer.step()
    times.append(time.perf_counter() - begin)
late = times[len(times) // 2:]
print(round(batch * seq * len(late) / sum(late)))
