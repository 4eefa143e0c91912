# GPT-2 124M on OpenWebText, 491,520 tokens per iteration.
# Data: train.bin and val.bin of GPT-2 tokens in data/openwebtext, as nanoGPT prepares them.

out_dir = 'out-gpt2'
dataset = 'openwebtext'

batch_size = 12
block_size = 1024
gradient_accumulation_steps = 5 * 8

max_iters = 600000
lr_decay_iters = 600000

eval_interval = 1000
eval_iters = 200
log_interval = 10
weight_decay = 1e-1
