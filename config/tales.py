# What ./scripts/demo trains: a very small GPT on the built-in tales, about a minute on two cores.
# Data: snug prepare tales data/tales

out_dir = 'out-tales'
dataset = 'tales'
device = 'cpu'

batch_size = 8
gradient_accumulation_steps = 1
block_size = 64

n_layer = 3
n_head = 4
n_embd = 128
dropout = 0.0

learning_rate = 4e-3
min_lr = learning_rate / 10
warmup_iters = 50
max_iters = 4500
lr_decay_iters = max_iters
beta2 = 0.99

eval_interval = 900
eval_iters = 20
log_interval = 250
